import { StorageError } from "hookline";
import type { InboxDisk, Readiness } from "hookline/adapter";
import { describe, expect, test } from "vitest";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** A receiver on an inbox that says this of its disk. */
function onDisk(readiness: Readiness, disk: InboxDisk = { freeBytes: 5, reopened: undefined }) {
  const state = { readiness, disk };
  const inbox = stubInbox((own) => ({
    ready: () => state.readiness,
    stats: () => ({ ...own.stats(), disk: state.disk }),
  }));
  return { ...rig({ inbox }), state };
}

const failing = (code: string): StorageError => new StorageError(code, "So it is.", { fix: "Do this." });

describe("health says of a disk", () => {
  test("how much of it is free, where that is known", async () => {
    const { receiver, state } = onDisk({ ready: true });
    expect(await receiver.health()).toMatchObject({ freeDiskBytes: 5, problems: [] });
    state.disk = { freeBytes: undefined, reopened: undefined };
    expect(await receiver.health()).not.toHaveProperty("freeDiskBytes");
  });

  test.each([
    ["disk-low", "disk-low"],
    ["disk-full", "disk-full"],
    ["file-corrupt", "inbox-corrupt"],
  ] as const)("that it is %s, with the cause and its fix: alive, because no restart helps", async (code, problem) => {
    const { receiver } = onDisk({ ready: false, error: failing(code), hopeless: false });
    const told = { ...toReported(problem, "So it is."), fix: "Do this." };
    expect(await receiver.health()).toMatchObject({ live: true, ready: false, problems: [told] });
  });

  test("that only another process can help: not alive", async () => {
    const { receiver, state } = onDisk({ ready: false, error: failing("thread-lost"), hopeless: true });
    const told = toReported("inbox-reopen-failing", "So it is.");
    expect(await receiver.health()).toMatchObject({ live: false, ready: false, problems: [told] });
    state.readiness = { ready: true };
    expect(await receiver.health()).toMatchObject({ live: true, ready: true });
  });

  test("that a removal of the file would go unnoticed", async () => {
    const { receiver, state } = onDisk({ ready: true }, { freeBytes: 5, reopened: undefined, hasUnstableInodes: true });
    expect(await receiver.health()).toMatchObject({ ready: true, problems: [toReported("inode-unreliable")] });
    state.disk = { freeBytes: 5, reopened: undefined, hasUnstableInodes: false };
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("that the file was reopened, for an hour", async () => {
    const { receiver, state, clock } = onDisk({ ready: true });
    state.disk = { freeBytes: 5, reopened: { count: 2, lastAt: clock.now() } };
    const got = `Since the start of this process: 2 times, last at ${clock.date().toISOString()}.`;
    expect(await problemsOf(receiver, "inbox-reopened")).toEqual([toReported("inbox-reopened", got)]);
    clock.jump(3_600_001);
    expect(await codesOf(receiver)).toEqual([]);
    clock.jump(-2 * 3_600_002);
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("that its file has several names, as long as it has", async () => {
    const { receiver, state } = onDisk({ ready: true });
    state.disk = { freeBytes: 5, reopened: undefined, hardLinks: 3 };
    expect(await problemsOf(receiver, "hard-linked")).toEqual([toReported("hard-linked", "Now: 3 names.")]);
    state.disk = { freeBytes: 5, reopened: undefined, hardLinks: 1 };
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("that another process has taken the work over, for an hour", async () => {
    const { receiver, state, clock } = onDisk({ ready: true });
    state.disk = { freeBytes: 5, reopened: undefined, takenOver: { count: 1, lastAt: clock.now() } };
    const got = `Since the start of this process: 1 time, last at ${clock.date().toISOString()}.`;
    expect(await receiver.health()).toMatchObject({ ready: true, problems: [toReported("worker-lock-lost", got)] });
    clock.jump(3_600_001);
    expect(await codesOf(receiver)).toEqual([]);
  });
});
