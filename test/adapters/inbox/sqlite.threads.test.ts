import { StorageError } from "hookline";
import type { Claim, JobOutcome } from "hookline/adapter";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { createReopenBackoff } from "../../../adapters/inbox/sqlite/thread/thread-failures.ts";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { realTimer, unlessHung } from "../../../adapters/inbox/sqlite/thread/watchdog.ts";
import { mail, one, raw } from "../../suites/inbox/deliveries.ts";
import { deferred, turns, until, watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { openInline } from "./inline-thread.ts";
import { beside, claimedIds, claimOne, DONE, folderFor, onDisk, silence } from "./on-disk.ts";

const HUNG = { code: "thread-hung" };
const READ_ERROR = { errcode: 266 };
const BUSY = { errcode: 5 };

/** A thread whose next batch hangs; what is begun meanwhile waits for it. */
async function hanging() {
  const channels = faultyChannels();
  const { setTimer, half } = silence();
  const made = await onDisk({ openThread: channels.open, setTimer });
  return {
    ...made,
    channels,
    /** It says nothing for its whole time. */
    async passInSilence() {
      half();
      half();
      await turns();
    },
  };
}

describe("a commit thread that hangs", () => {
  test("is replaced, and what it does when the disk lets it go changes nothing", async () => {
    const { inbox, channels, passInSilence, isReady } = await hanging();
    await inbox.store([mail([one("a")]), mail([one("b")])]);
    const claim = await claimOne(inbox);
    channels.next("hangs");
    const [stored, settled] = [
      watch(inbox.store([mail(["c"])])),
      watch(inbox.settle(claim === undefined ? [] : [{ claim, outcomes: [DONE] }])),
    ];
    await turns();
    const behind = watch(inbox.store([mail(["d"])]));
    await passInSilence();
    await until(() => stored.ended && settled.ended && behind.ended);
    expect(stored.value).toMatchObject([HUNG]);
    expect(settled.error).toMatchObject(HUNG);
    expect(behind.value).toMatchObject([HUNG]);
    await isReady();
    expect(channels.opened).toBe(2);
    const before = inbox.stats();
    const [late] = await channels.letGo();
    expect(late?.map((result) => "error" in result && result.error.code)).toEqual(late?.map(() => "epoch-stale"));
    await inbox.store([mail(["e"])]);
    expect(inbox.stats()).toMatchObject({ waiting: before.waiting + 1, running: 1 });
    expect(await inbox.settle(claim === undefined ? [] : [{ claim, outcomes: [DONE] }])).toEqual([true]);
    expect((await claimedIds(inbox)).toSorted()).toEqual(["b", "e"]);
  });

  test("in a process that only receives, keeps late what the service sends again: it comes twice, in order", async () => {
    const { inbox: working, file, host } = await onDisk();
    const channels = faultyChannels();
    const { setTimer, half } = silence();
    const receiving = await beside(file, host, { openThread: channels.open, setTimer });
    channels.next("hangs");
    const stored = watch(receiving.store([raw(mail(["a"]))]));
    await turns();
    half();
    half();
    await until(() => stored.ended);
    expect(stored.value).toMatchObject([HUNG]);
    await eventually(() => expect(receiving.ready().ready).toBe(true));
    await receiving.store([raw(mail(["a"]))]);
    await channels.letGo();
    expect(await working.store([mail(["b"])])).toMatchObject([{ expanded: false }]);
    const all = await working.unexpanded(10);
    expect(all.map(({ id }) => id)).toEqual(["1", "2", "3"]);
    expect(working.stats()).toMatchObject({ unexpanded: 3, waiting: 0 });
  });

  test("is not to be confused with a process that was stopped itself: the answer that waited for it counts", async () => {
    const { setTimer, half } = silence();
    const { promise, resolve } = deferred<string>();
    const seen = watch(unlessHung(promise, { ms: 30_000, setTimer }));
    half();
    resolve("late");
    await turns();
    half();
    await turns();
    expect(seen).toMatchObject({ ended: true, value: "late" });
  });

  test("does not keep the process, and is measured by the machine's own clock", async () => {
    const hung = unlessHung(new Promise(() => {}), { ms: 2, setTimer: realTimer });
    await expect(hung).rejects.toMatchObject({ code: "thread-hung", message: expect.stringContaining("0.002 s") });
  });

  test("while it opens the file, is given up as well, and ends when it has opened it", async () => {
    const channels = faultyChannels();
    const { setTimer, half } = silence();
    const opening: (() => void)[] = [];
    let isSlow = false;
    const ended: unknown[] = [];
    const { inbox, isReady, clock } = await onDisk({
      setTimer,
      async openThread(options, events) {
        const held = deferred();
        if (isSlow) {
          opening.push(held.resolve);
          await held.promise;
        }
        const channel = await channels.open(options, events);
        return { ...channel, abandon: () => (ended.push(1), channel.abandon()) };
      },
    });
    isSlow = true;
    channels.next("dies after");
    await inbox.store([mail(["a"])]);
    half();
    half();
    await turns();
    expect(inbox.ready()).toMatchObject({ ready: false, error: HUNG });
    expect(ended).toHaveLength(1);
    isSlow = false;
    await clock.advance(2_000);
    await isReady();
    opening[0]?.();
    await eventually(() => expect(ended).toHaveLength(2));
    expect(await claimedIds(inbox)).toEqual(["a"]);
  });

  test("and holds the file, keeps the next one from it until it ends: nothing else waits", async () => {
    const channels = faultyChannels();
    let isReplaced = false;
    const { inbox, clock, file, isReady } = await onDisk({
      openThread: (options, events) =>
        isReplaced ? openInline(options, events, { timeoutMs: 0 }) : channels.open(options, events),
    });
    await inbox.store([mail(["a"])]);
    const stuck = new DatabaseSync(file);
    onTestFinished(() => void (stuck.isOpen && stuck.close()));
    stuck.exec("BEGIN IMMEDIATE");
    isReplaced = true;
    channels.next("dies before");
    await inbox.store([mail(["b"])]);
    await turns();
    for (const pauseMs of [2_000, 4_000]) {
      expect(inbox.ready()).toMatchObject({ ready: false, error: { code: "file-locked" } });
      expect(await inbox.store([mail(["b"])])).toMatchObject([{ code: "file-locked" }]);
      await clock.advance(pauseMs);
    }
    stuck.exec("COMMIT");
    await clock.advance(2_000);
    await clock.advance(2_000);
    await clock.advance(2_000);
    await clock.advance(2_000);
    await isReady();
    expect(await claimedIds(inbox)).toEqual(["a"]);
  });
});

describe("a settle whose commit failed with its thread counts once when it is told again:", () => {
  const ERROR = { name: "Error", message: "no", at: 1 };
  const outcomesAt = (now: number) =>
    ({
      done: { to: "done" },
      dead: { to: "dead", error: ERROR },
      retry: { to: "retry", at: now + 1_000, delayMs: 1_000, counted: true, error: ERROR },
    }) as const satisfies Record<string, JobOutcome>;

  test.each([
    ["done", "dies before", { open: 1, dead: 0 }],
    ["done", "dies after", { open: 1, dead: 0 }],
    ["dead", "dies before", { open: 1, dead: 1 }],
    ["dead", "dies after", { open: 1, dead: 1 }],
    ["retry", "dies before", { open: 2, dead: 0 }],
    ["retry", "dies after", { open: 2, dead: 0 }],
  ] as const)("%s, of one that %s it", async (to, fault, left) => {
    const channels = faultyChannels(openInline);
    const { inbox, clock, file, isReady } = await onDisk({ openThread: channels.open });
    await inbox.store([mail([one("a")]), mail([one("b")])]);
    const claim = (await claimOne(inbox)) as Claim;
    const outcomes = [outcomesAt(clock.now())[to]];
    channels.next(fault);
    await expect(inbox.settle([{ claim, outcomes }])).rejects.toThrow(StorageError);
    await isReady();
    // Until then it runs, as far as anybody knows.
    expect(await claimedIds(inbox)).toEqual([]);
    expect(inbox.stats()).toMatchObject({ waiting: 1, running: 1 });
    expect(await inbox.settle([{ claim, outcomes }])).toEqual([true]);
    expect(countsIn(file)).toEqual(left);
    expect(await claimedIds(inbox)).toEqual(to === "retry" ? [] : ["b"]);
    expect(inbox.stats()).toMatchObject({ running: to === "retry" ? 0 : 1, dead: left.dead });
  });

  /** What the file counts, which is what is in it. */
  function countsIn(file: string): unknown {
    const db = new DatabaseSync(file, { readOnly: true });
    try {
      const rows = "SELECT (SELECT count(*) FROM job) AS open, (SELECT count(*) FROM dead) AS dead";
      const counts = db.prepare("SELECT open, dead FROM state").get();
      expect(db.prepare(rows).get()).toEqual(counts);
      return counts;
    } finally {
      db.close();
    }
  }
});

describe("when commits fail again and again", () => {
  test("the file is opened at growing intervals, and taken again when one holds", async () => {
    const channels = faultyChannels(openInline);
    const { inbox, clock, isReady } = await onDisk({ openThread: channels.open });
    for (const seconds of [1, 2, 4, 8]) {
      channels.next(READ_ERROR);
      expect(await inbox.store([mail(["a"])])).toMatchObject([{ code: "disk-failed" }]);
      const { opened } = channels;
      for (let half = 1; half < seconds * 2; half += 1) await clock.advance(500);
      expect([inbox.ready().ready, channels.opened]).toEqual([false, opened]);
      await clock.advance(500);
      await isReady();
    }
    expect(inbox.stats().disk?.reopened).toEqual({ count: 4, lastAt: expect.any(Number) });
    expect(await inbox.store([mail(["b"])])).toMatchObject([{ expanded: true }]);
    channels.next(READ_ERROR);
    await inbox.store([mail(["c"])]);
    await clock.advance(1_000);
    await isReady();
    expect(await claimedIds(inbox)).toEqual(["b"]);
  });

  test("because something else holds the file, it is not opened anew", async () => {
    const channels = faultyChannels(openInline);
    const { inbox } = await onDisk({ openThread: channels.open });
    channels.next(BUSY);
    expect(await inbox.store([mail(["a"])])).toMatchObject([{ code: "file-locked", fix: expect.any(String) }]);
    expect(inbox.ready()).toEqual({ ready: true });
    expect(await inbox.store([mail(["a"])])).toMatchObject([{ expanded: true }]);
    expect(channels.opened).toBe(1);
  });

  test("with ten threads lost in a row only another process can help, until a commit holds", async () => {
    const channels = faultyChannels(openInline);
    const { inbox, clock, isReady } = await onDisk({ openThread: channels.open });
    for (let thread = 1; thread <= 10; thread += 1) {
      expect(inbox.ready()).toEqual({ ready: true });
      channels.next("dies before");
      expect(await inbox.store([mail(["a"])])).toMatchObject([{ code: "thread-lost" }]);
      if (thread === 10) break;
      for (let second = 0; second < 32 && !inbox.ready().ready; second += 2) await clock.advance(2_000);
      await isReady();
    }
    expect(inbox.ready()).toMatchObject({ ready: false, hopeless: true });
    for (let second = 0; second < 600; second += 2) await clock.advance(2_000);
    await isReady();
    expect(await inbox.store([mail(["a"])])).toMatchObject([{ expanded: true }]);
    channels.next(READ_ERROR);
    await inbox.store([mail(["b"])]);
    expect(inbox.ready()).toMatchObject({ ready: false, hopeless: false });
  });
});

test("a full disk is told for 30 s, and no longer because the clock went back", () => {
  const failures = createReopenBackoff();
  const full = new StorageError("disk-full", "no");
  failures.full(full, 1_000_000);
  expect([1_000_000, 1_029_999, 970_001].map(failures.shortage)).toEqual([full, full, full]);
  expect([1_030_000, 970_000, 0].map(failures.shortage)).toEqual([undefined, undefined, undefined]);
});

describe("between two tries to open a file", () => {
  const pauses = (code: string, times: number): number[] => {
    const failures = createReopenBackoff();
    return Array.from({ length: times }, () => failures.add(new StorageError(code, "no"), 0));
  };

  test("there is no pause after the first thread that ended, then more and more, then 10 minutes", () => {
    const [first, ...next] = pauses("thread-lost", 11);
    expect(first).toBe(0);
    expect(next).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 600_000, 600_000]);
  });

  test("there are seconds after an error of the disk", () => {
    expect(pauses("disk-failed", 7)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test("there are minutes where it is damaged", () => {
    expect(pauses("file-corrupt", 6)).toEqual([60_000, 120_000, 240_000, 480_000, 600_000, 600_000]);
  });
});

test("bytes in memory that threads share are not given away: the next batch may use them again", async () => {
  const events = { counted() {}, converting() {}, changed() {}, ended() {} };
  const file = join(folderFor(), "inbox.db");
  const thread = await openThread({ file, name: "default", dedupeWindowMs: 0 }, events);
  onTestFinished(() => thread.close());
  const bytes = new Uint8Array(new SharedArrayBuffer(8));
  const batch = { epoch: undefined, tasks: [], bytes };
  expect([await thread.run(batch), await thread.run(batch)]).toEqual([[], []]);
});

test("what was run before close() on a thread that ends without an answer is not waited for", async () => {
  const threads: Worker[] = [];
  const note = (thread: Worker): unknown => threads.push(thread);
  process.on("worker", note);
  onTestFinished(() => void process.off("worker", note));
  const events = { counted() {}, converting() {}, changed() {}, ended() {} };
  const file = join(folderFor(), "inbox.db");
  const thread = await openThread({ file, name: "default", dedupeWindowMs: 0 }, events);
  const ended = threads.at(-1)?.terminate();
  const run = thread.run({ epoch: undefined, tasks: [], bytes: new Uint8Array() });
  const closed = thread.close();
  await expect(run).rejects.toMatchObject({ code: "storage-failed" });
  await closed;
  await ended;
});
