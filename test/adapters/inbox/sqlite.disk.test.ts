import { StorageError } from "hookline";
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { createFreeDisk } from "../../../adapters/inbox/sqlite/connection/disk-shortage.ts";
import { mail, one, raw } from "../../suites/inbox/deliveries.ts";
import { until } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { openInline } from "./inline-thread.ts";
import { beside, claimedIds, claimOne, DONE, onDisk } from "./on-disk.ts";

const MIB = 1024 * 1024;
const LOW = { code: "disk-low" };

/** A disk whose room the test sets. */
function room(bytes: number) {
  const state = { bytes, looks: 0 };
  const freeBytesIn = async (): Promise<number> => {
    state.looks += 1;
    if (Number.isNaN(state.bytes)) throw new Error("no such folder");
    return state.bytes;
  };
  return { state, freeBytesIn };
}

async function lowOnDisk() {
  const { state, freeBytesIn } = room(300 * MIB);
  const made = await onDisk({ minFreeDiskBytes: 256 * MIB, freeBytesIn, openThread: openInline });
  const { clock, inbox } = made;
  return {
    ...made,
    /** So much is free from now on, and somebody has asked since. */
    async leave(bytes: number) {
      const { looks } = state;
      state.bytes = bytes;
      await clock.advance(1_000);
      inbox.stats();
      await until(() => state.looks > looks);
      await clock.advance(0);
    },
  };
}

describe("below its low-water mark the inbox", () => {
  test("keeps nothing more, says so, and goes on with what it has", async () => {
    const { inbox, host, file, leave } = await lowOnDisk();
    const receiving = await beside(file, host);
    await inbox.store([mail([one("a")]), mail([one("b")])]);
    await receiving.store([raw(mail(["c"]))]);
    const claim = await claimOne(inbox);
    await leave(200 * MIB);
    expect(await inbox.store([mail(["d"]), mail(["e"])])).toMatchObject([LOW, LOW]);
    expect(inbox.ready()).toMatchObject({ ready: false, error: LOW });
    expect(inbox.ready()).toMatchObject({ error: { message: expect.stringMatching(/200 MiB left.*256 MiB/) } });
    expect(inbox.stats().disk).toMatchObject({ freeBytes: 200 * MIB });
    expect(await inbox.settle(claim === undefined ? [] : [{ claim, outcomes: [DONE] }])).toEqual([true]);
    const [waiting] = await inbox.unexpanded(1);
    await inbox.expand([{ id: waiting?.id ?? "", events: mail(["c"]).events, cursor: undefined }]);
    expect(await claimedIds(inbox)).toEqual(["b", "c"]);
    await inbox.tombstones.put({ subscription: 1, source: undefined, reason: "gone" });
    expect(inbox.tombstones.find(1, undefined)).toBeDefined();
  });

  test("takes deliveries again by itself, with some room to spare", async () => {
    const { inbox, leave } = await lowOnDisk();
    await leave(255 * MIB);
    await leave(260 * MIB);
    expect(await inbox.store([mail(["a"])])).toMatchObject([LOW]);
    await leave(300 * MIB);
    expect(await inbox.store([mail(["a"])])).toMatchObject([{ expanded: true }]);
    expect(inbox.ready()).toEqual({ ready: true });
  });

  test("knows it from the start", async () => {
    const { freeBytesIn } = room(1);
    const { inbox } = await onDisk({ minFreeDiskBytes: 2, freeBytesIn });
    expect(await inbox.store([mail(["a"])])).toMatchObject([LOW]);
  });
});

describe("the free room of a disk", () => {
  test("is what the user of this process may take of it", async () => {
    const { inbox } = await onDisk();
    expect(inbox.stats().disk?.freeBytes).toBeGreaterThan(0);
  });

  test("is looked at once a second at most, and by one at a time", async () => {
    const { state, freeBytesIn } = room(5);
    let time = 0;
    const disk = createFreeDisk({ file: () => "inbox.db", leastBytes: 1, now: () => time, freeBytesIn });
    await disk.look();
    disk.shortage();
    time = 999;
    disk.bytes();
    expect(state.looks).toBe(1);
    time = 1_000;
    disk.bytes();
    time = 2_000;
    disk.bytes();
    expect(state.looks).toBe(2);
  });

  test("is looked at again when the wall clock went back", async () => {
    const { state, freeBytesIn } = room(5);
    let time = 0;
    const disk = createFreeDisk({ file: () => "inbox.db", leastBytes: 1, now: () => time, freeBytesIn });
    await disk.look();
    time = -1_000_000;
    disk.bytes();
    expect(state.looks).toBe(2);
  });

  test("stops nothing where it is not known", async () => {
    const { state, freeBytesIn } = room(0);
    const disk = createFreeDisk({ file: () => "inbox.db", leastBytes: 1, now: () => 0, freeBytesIn });
    await disk.look();
    expect(disk.shortage()).toBeInstanceOf(StorageError);
    state.bytes = NaN;
    await disk.look();
    expect([disk.shortage(), disk.bytes()]).toEqual([undefined, undefined]);
  });
});

describe("a disk that is full in the middle of a commit", () => {
  /** The file may grow no more until the test lets it. */
  async function fullDisk() {
    let db: DatabaseSync | undefined;
    const made = await onDisk({
      openThread: (options, events) => openInline(options, events, { opened: (given) => (db = given) }),
    });
    const pages = (): number => Number(db?.prepare("PRAGMA page_count").get()?.["page_count"]);
    return {
      ...made,
      fill: () => db?.exec(`PRAGMA max_page_count = ${pages()}`),
      makeRoom: () => db?.exec("PRAGMA max_page_count = 1000000"),
    };
  }

  const big = (id: string) => mail([one(id)], { filler: "x".repeat(100_000) });

  test("keeps nothing of that commit, says so for a while, and loses nothing else", async () => {
    const { inbox, clock, fill, makeRoom } = await fullDisk();
    await inbox.store([mail([one("a")])]);
    fill();
    expect(await inbox.store([big("b"), big("c")])).toMatchObject([{ code: "disk-full" }, { code: "disk-full" }]);
    expect(inbox.ready()).toMatchObject({ ready: false, error: { code: "disk-full" } });
    expect(inbox.stats()).toMatchObject({ waiting: 1, running: 0, disk: { reopened: undefined } });
    expect(await claimedIds(inbox)).toEqual(["a"]);
    makeRoom();
    expect(await inbox.store([big("d")])).toMatchObject([{ expanded: true }]);
    expect(inbox.ready()).toEqual({ ready: true });
    fill();
    await inbox.store([big("e")]);
    clock.jump(30_000);
    expect(inbox.ready()).toEqual({ ready: true });
    makeRoom();
    expect(await claimedIds(inbox)).toEqual([]);
    await inbox.store([mail([one("f")])]);
    expect(inbox.stats()).toMatchObject({ waiting: 2, running: 1 });
  });

  test("leaves a lane closed until the settle of its job holds", async () => {
    const { inbox, fill, makeRoom } = await fullDisk();
    await inbox.store([mail([one("a")]), mail([one("b")])]);
    const claim = await claimOne(inbox);
    fill();
    const error = { name: "Error", message: "x".repeat(200_000), at: 0 };
    const settlements = claim === undefined ? [] : [{ claim, outcomes: [{ to: "dead", error } as const] }];
    await expect(inbox.settle(settlements)).rejects.toMatchObject({ code: "disk-full" });
    expect(await claimedIds(inbox)).toEqual([]);
    makeRoom();
    expect(await inbox.settle(settlements)).toEqual([true]);
    expect(inbox.stats()).toMatchObject({ dead: 1 });
    await eventually(async () => expect(await claimedIds(inbox)).toEqual(["b"]));
  });
});
