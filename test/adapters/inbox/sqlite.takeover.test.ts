import { StorageError, UsageError, type AnyEvent, type Context } from "hookline";
import { chmodSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { openThread, type ThreadClient } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { createSqliteInbox, type SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { createTakeOver } from "../../../adapters/inbox/sqlite/work/take-over.ts";
import { systemClock } from "../../../src/clock.ts";
import { toLogger } from "../../../src/logger.ts";
import { startNode } from "../../cli/child.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { deferred, turns, until, watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { codesOf, problemsOf } from "../../support/health.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { heldHandler, idOf } from "../../support/rig.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { folderFor } from "./on-disk.ts";
import { receiverOn } from "./receiver-on.ts";

const HOST = { name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 };

function path(): string {
  return join(folderFor(), "inbox.db");
}

/** As if another process had taken over the work. */
function takeOver(file: string): void {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec("UPDATE state SET epoch = epoch + 1");
  db.close();
}

function epochOf(file: string): number {
  const db = new DatabaseSync(file, { timeout: 5_000 });
  const { epoch } = db.prepare("SELECT epoch FROM state").get() ?? {};
  db.close();
  return Number(epoch);
}

/** Real commit threads whose take-overs find no room, as often as the test says, or are told of later. */
function takeOvers() {
  const state = { fail: 0, failed: 0, held: Promise.resolve() };
  const open = async (...given: Parameters<typeof openThread>): Promise<ThreadClient> => {
    const channel = await openThread(...given);
    return {
      ...channel,
      async run(batch) {
        if (batch.tasks[0]?.verb !== "takeOver") return channel.run(batch);
        if (state.failed < state.fail) {
          state.failed += 1;
          return [{ error: { code: "ERR_SQLITE_ERROR", message: "full", fix: undefined, errcode: 13 } }];
        }
        const results = await channel.run(batch);
        await state.held;
        return results;
      },
    };
  };
  return { open, state };
}

/** Real commit threads that wait with each batch for the test; and what the first task of each was. */
function slowCommits() {
  const state = { held: Promise.resolve(), batches: [] as string[] };
  const open = async (...given: Parameters<typeof openThread>): Promise<ThreadClient> => {
    const channel = await openThread(...given);
    return {
      ...channel,
      async run(batch) {
        state.batches.push(String(batch.tasks[0]?.verb));
        await state.held;
        return channel.run(batch);
      },
    };
  };
  return { open, state };
}

/** An inbox with what its worker heard. */
function inboxOn(file: string, options: Partial<SqliteOptions> = {}) {
  const inbox = createSqliteInbox({ file, ...options });
  const heard: string[] = [];
  const worker = {
    begin: () => void heard.push("begin"),
    end: () => void heard.push("end"),
    wake() {},
    lost: () => void heard.push("lost"),
  };
  onTestFinished(() => inbox.close());
  return { inbox, heard, work: () => inbox.work(worker) };
}

describe("a process whose work another has taken over", () => {
  test("does what needs no worker in the order in which it was asked for", async () => {
    const file = path();
    const { inbox, heard, work } = inboxOn(file);
    await inbox.open(HOST);
    await work();
    takeOver(file);
    await Promise.all([
      inbox.tombstones.put({ subscription: 7, source: undefined, reason: "gone" }),
      inbox.tombstones.lift(7, undefined),
    ]);
    expect(heard).toContain("end");
    const db = new DatabaseSync(file, { readOnly: true });
    onTestFinished(() => db.close());
    expect(db.prepare("SELECT subscription FROM tombstone").all()).toEqual([]);
  });

  test("acknowledges what comes meanwhile, tells its handlers, stands by, and works again when it can", async () => {
    const file = path();
    const clock = fakeClock(new Date());
    const { receiver, log, send } = receiverOn(file, {}, { clock });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    expect(await send("m-1")).toBe(200);
    await eventually(() => expect(calls.length).toBe(1));
    takeOver(file);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => send(`n-${index}`)));
    expect(new Set(answers)).toEqual(new Set([200]));
    await eventually(() => expect(receiver.stats().role).toBe("standby"));
    expect(calls[0]?.ctx.signal.reason).toMatchObject({ code: "claim-lost" });
    expect(await send("o-1")).toBe(200);
    expect(await receiver.health()).toMatchObject({ live: true, ready: true });
    expect((await problemsOf(receiver, "worker-lock-lost"))[0]?.message).toContain("1 time, last at");
    for (const { end } of calls) end();
    await clock.advance(1_000);
    await eventually(() => expect(receiver.stats().role).toBe("working"));
    await eventually(() => {
      for (const { end } of calls) end();
      expect(new Set(calls.map(({ event }) => idOf(event))).size).toBe(42);
    });
    expect(log.of("settle-failed")).toEqual([]);
    expect(log.of("inbox-failed")).toEqual([]);
  });

  test("changes nothing any more, neither by what was under way nor by what waited for its turn", async () => {
    const { open, state } = slowCommits();
    const file = path();
    const { inbox, heard, work } = inboxOn(file, { openThread: open });
    await inbox.open(HOST);
    await work();
    await inbox.store([mail(["a"]), mail(["b"]), mail(["c"])]);
    const { claims } = await inbox.claim({ max: 3, mergeMax: 1 });
    const settle = (claim = claims[0]): Promise<readonly boolean[]> =>
      claim === undefined ? Promise.resolve([]) : inbox.settle([{ claim, outcomes: [{ to: "done" }] }]);
    const { promise, resolve } = deferred();
    state.held = promise;
    const first = settle(claims[0]);
    await until(() => state.batches.includes("settle"));
    const second = settle(claims[1]);
    takeOver(file);
    resolve();
    expect(await Promise.all([first, second])).toEqual([[false], [false]]);
    expect(heard).toEqual(["begin", "lost", "end"]);
    expect(await settle(claims[2])).toEqual([false]);
    await expect(inbox.expand([{ id: "1", events: [], cursor: undefined }])).rejects.toMatchObject({
      code: "epoch-stale",
    });
    expect(inbox.stats()).toMatchObject({ waiting: 0, running: 3 }); // as the file's mark says
    expect(state.batches.filter((verb) => verb === "settle").length).toBe(1);
  });

  test("gives no claim for which it has still to read", async () => {
    const file = path();
    const before = inboxOn(file);
    await before.inbox.open(HOST);
    await before.work();
    await before.inbox.store([mail(["a"])]);
    await before.inbox.close();
    const clock = fakeClock();
    const { inbox, heard, work } = inboxOn(file);
    await inbox.open({ ...HOST, clock });
    await work();
    takeOver(file);
    expect(await inbox.claim({ max: 1, mergeMax: 1 })).toMatchObject({ claims: [] });
    expect(heard).toEqual(["begin", "end"]);
    await clock.advance(1_000);
    await eventually(() => expect(heard).toEqual(["begin", "end", "begin"]));
    expect((await inbox.claim({ max: 1, mergeMax: 1 })).claims.length).toBe(1);
  });

  test("opens the file anew without it where its thread ends, too", async () => {
    const channels = faultyChannels();
    const file = path();
    const clock = fakeClock();
    const { inbox, heard, work } = inboxOn(file, { openThread: channels.open });
    await inbox.open({ ...HOST, clock });
    await work();
    takeOver(file);
    channels.next("dies before");
    await inbox.store([mail(["a"])]);
    await until(() => inbox.ready().ready);
    expect(heard).toEqual(["begin", "end"]);
    await clock.advance(1_000);
    await eventually(() => expect(heard).toEqual(["begin", "end", "begin"]));
  });

  test("starts nothing in the lane of a handler that runs on, when it works again", async () => {
    const file = path();
    const clock = fakeClock(new Date());
    const { receiver, send } = receiverOn(file, {}, { clock });
    const ends: (() => void)[] = [];
    const seen: string[] = [];
    receiver.on("email", async (event: AnyEvent, ctx: Context) => {
      const { promise, resolve } = deferred();
      seen.push(`${idOf(event)} ${ctx.attempt}`);
      ends.push(resolve);
      await promise;
    });
    await receiver.start();
    await send("m-1");
    await eventually(() => expect(seen).toEqual(["m-1 1"]));
    takeOver(file);
    await eventually(() => expect(receiver.stats().role).toBe("standby"));
    await clock.advance(1_000);
    await eventually(() => expect(receiver.stats().role).toBe("working"));
    await send("m-2");
    await eventually(() => expect(seen).toEqual(["m-1 1", "m-2 1"]));
    ends[0]?.();
    await eventually(() => expect(seen).toEqual(["m-1 1", "m-2 1", "m-1 2"]));
    for (const end of ends) end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 2, failed: 0 });
  });

  test("nor where a take-over failed in between", async () => {
    const file = path();
    const clock = fakeClock(new Date());
    const { open, state } = takeOvers();
    const { receiver, send, log } = receiverOn(file, { openThread: open }, { clock });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const seen = () => calls.map(({ event, ctx }) => `${idOf(event)} ${ctx.attempt}`);
    await receiver.start();
    await send("m-1");
    await eventually(() => expect(seen()).toEqual(["m-1 1"]));
    state.fail = 1;
    takeOver(file);
    await eventually(() => expect(receiver.stats().role).toBe("standby"));
    await clock.advance(1_000);
    await eventually(() => expect(log.of("take-over-failed").length).toBe(1));
    await clock.advance(1_000);
    await eventually(() => expect(receiver.stats().role).toBe("working"));
    await send("m-2");
    await eventually(() => expect(seen()).toEqual(["m-1 1", "m-2 1"]));
    calls[0]?.end();
    await eventually(() => expect(seen()).toEqual(["m-1 1", "m-2 1", "m-1 2"]));
    for (const { end } of calls) end();
    await receiver.idle();
  });

  test("and that is closed while a handler runs on leaves the work to others", async () => {
    const file = path();
    const clock = fakeClock(new Date());
    const { receiver, send } = receiverOn(file, {}, { clock });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send("m-1");
    await eventually(() => expect(calls.length).toBe(1));
    takeOver(file);
    await eventually(() => expect(receiver.stats().role).toBe("standby"));
    const closed = watch(receiver.close({ drainMs: 0 }));
    await eventually(async () => {
      await clock.advance(1);
      expect(closed).toMatchObject({ ended: true, value: { stuck: 1 } });
    });
    const epoch = epochOf(file);
    await clock.advance(1_000);
    await eventually(() => expect(epochOf(file)).toBe(epoch + 1)); // it asked once more
    const other = receiverOn(file);
    await other.receiver.start();
    await eventually(() => expect(other.receiver.stats().role).toBe("working"));
    await clock.advance(60_000);
    expect(other.receiver.stats().role).toBe("working");
    calls[0]?.end();
  });

  test("waits longer each time, where the work goes back and forth", async () => {
    const [clock, waits, begun] = [fakeClock(), [] as number[], { times: 0 }];
    const tenure = createTakeOver({
      file: path,
      host: () => ({ ...HOST, clock }),
      takeOver: async () => {},
      began() {},
      lose: () => [],
      left() {},
    });
    onTestFinished(() => tenure.release());
    await tenure.work({ begin: () => void (begun.times += 1), end() {}, wake() {}, lost() {} });
    for (let time = 1; time <= 8; time += 1) {
      const from = clock.now();
      tenure.fenced();
      while (begun.times === time) await clock.advance(500);
      waits.push(clock.now() - from);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(tenure.takenOver).toEqual({ count: 8, lastAt: clock.now() - 60_000 });
    // What was long ago is over.
    await clock.advance(9 * 60_000 + 1);
    const from = clock.now();
    tenure.fenced();
    while (begun.times === 9) await clock.advance(500);
    expect(clock.now() - from).toBe(1_000);
    expect(tenure.takenOver?.count).toBe(9);
  });
});

describe("a lock that somebody removes while its process works", () => {
  test("is made anew, and the work goes on: nobody else gets it", async () => {
    const file = path();
    const { inbox, heard, work } = inboxOn(file);
    const log = logRecorder();
    await inbox.open({ ...HOST, log: log.logger });
    await work();
    const standby = inboxOn(file);
    await standby.inbox.open(HOST);
    await standby.work();
    rmSync(`${file}-lock`);
    await eventually(() => expect(log.of("lock-replaced").length).toBe(1));
    const third = inboxOn(file);
    await third.inbox.open(HOST);
    await third.work();
    expect([heard, standby.heard, third.heard]).toEqual([["begin"], [], []]);
    await inbox.close();
    await eventually(() => expect([...standby.heard, ...third.heard]).toEqual(["begin"]));
  });

  test("is not taken for another's while somebody only looks at the new one", async () => {
    const file = path();
    const { inbox, heard, work } = inboxOn(file);
    const log = logRecorder();
    await inbox.open({ ...HOST, log: log.logger });
    await work();
    rmSync(`${file}-lock`);
    const look = new DatabaseSync(`${file}-lock`);
    look.exec("BEGIN; SELECT count(*) FROM sqlite_schema");
    chmodSync(`${file}-lock`, 0o644);
    await eventually(() => expect(statSync(`${file}-lock`).mode & 0o777).toBe(0o600)); // it was tried
    look.close();
    await eventually(() => expect(log.of("lock-replaced").length).toBe(1));
    expect(heard).toEqual(["begin"]);
  });

  test("and that another process has: the first stands by, and takes over when that dies", async () => {
    const file = path();
    const { receiver, send } = receiverOn(file);
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send("held");
    await eventually(() => expect(calls.length).toBe(1));
    rmSync(`${file}-lock`);
    // It has the new one before this process can look.
    const lock = new DatabaseSync(`${file}-lock`);
    lock.exec("BEGIN EXCLUSIVE");
    await eventually(() => expect(receiver.stats().role).toBe("standby"));
    lock.close();
    const other = startNode(["test/adapters/inbox/holding-process.ts", file]);
    expect(await send("held too")).toBe(200);
    expect(calls[0]?.ctx.signal.aborted).toBe(true);
    expect(await codesOf(receiver)).toContain("worker-lock-lost");
    calls[0]?.end();
    await Promise.race([
      other.says("out", /^worker\n/m),
      eventually(() => expect(receiver.stats().role).toBe("working")),
    ]);
    other.kill("SIGKILL");
    await eventually(() => expect(receiver.stats().role).toBe("working"));
    await eventually(() => expect(calls.length).toBeGreaterThan(1));
  });
});

describe("a start that fails half-way", () => {
  test("says what to do, and gives the place back: another process works, and so does a later start", async () => {
    const { open, state } = takeOvers();
    const file = path();
    const { inbox, heard, work } = inboxOn(file, { openThread: open });
    await inbox.open(HOST);
    state.fail = 1;
    const failed = work();
    await expect(failed).rejects.toBeInstanceOf(StorageError);
    await expect(failed).rejects.toMatchObject({ code: "disk-full", fix: expect.stringContaining("`start()` again") });
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining("by itself") });
    const other = inboxOn(file);
    await other.inbox.open(HOST);
    await other.work();
    expect([heard, other.heard]).toEqual([[], ["begin"]]);
    await other.inbox.close();
    await work();
    expect(heard).toEqual(["begin"]);
  });

  test("says so where it was the file that could not be opened", async () => {
    const full = new StorageError("disk-full", "full", { fix: "The inbox goes on by itself." });
    const { inbox } = inboxOn(path(), { openThread: () => Promise.reject(full) });
    await expect(inbox.open(HOST)).rejects.toMatchObject({
      code: "disk-full",
      message: expect.stringContaining("the inbox was not opened. Make room, then call `start()` again"),
      cause: full,
    });
  });

  test("lets what is asked for by hand be done", async () => {
    const { open, state } = takeOvers();
    const { inbox, work } = inboxOn(path(), { openThread: open });
    await inbox.open(HOST);
    state.fail = 1;
    await expect(work()).rejects.toThrow("no room left");
    expect(await inbox.jobs.drop({ ids: ["1"] })).toBe(0);
  });

  test("of a stand-by is tried again, and another may have it in between", async () => {
    const { open, state } = takeOvers();
    const file = path();
    const first = inboxOn(file);
    await first.inbox.open(HOST);
    await first.work();
    const [log, clock] = [logRecorder(), fakeClock()];
    const second = inboxOn(file, { openThread: open });
    await second.inbox.open({ ...HOST, clock, log: log.logger });
    await second.work();
    state.fail = 1;
    await first.inbox.close();
    await clock.advance(250);
    await eventually(() => expect(log.of("take-over-failed").length).toBe(1));
    const third = inboxOn(file);
    await third.inbox.open(HOST);
    await third.work();
    expect([second.heard, third.heard]).toEqual([["end"], ["begin"]]);
    await third.inbox.close();
    await clock.advance(1_000);
    await eventually(() => expect(second.heard).toEqual(["end", "begin"]));
  });

  test.each([
    [
      "its take-overs fail",
      "no room left",
      (state: { fail: number }) => {
        state.fail = Infinity;
        return () => void (state.fail = 0);
      },
    ],
    [
      "the lock cannot be acquired",
      "is no lock file",
      (_: unknown, lock: string) => {
        rmSync(lock);
        writeFileSync(lock, "something else".repeat(300));
        return () => rmSync(lock);
      },
    ],
  ])("of a stand-by is a standstill while %s, until another process works", async (_, cause, breakIt) => {
    const { open, state } = takeOvers();
    const file = path();
    const first = inboxOn(file);
    await first.inbox.open(HOST);
    await first.work();
    const clock = fakeClock(new Date());
    const { receiver, send } = receiverOn(file, { openThread: open }, { clock });
    const seen: string[] = [];
    receiver.on("email", (event) => void seen.push(idOf(event)));
    await receiver.start();
    await first.inbox.close();
    const mend = breakIt(state, `${file}-lock`);
    await send("m-1");
    await eventually(async () => {
      await clock.advance(1_000);
      expect(await problemsOf(receiver, "no-progress")).toMatchObject([{ message: expect.stringContaining(cause) }]);
    });
    expect(receiver.stats().role).toBe("standby");
    mend();
    const third = inboxOn(file);
    await third.inbox.open(HOST);
    await third.work();
    await eventually(async () => {
      await clock.advance(1_000);
      expect(await codesOf(receiver)).not.toContain("no-progress");
    });
    await third.inbox.close();
    await eventually(async () => {
      await clock.advance(1_000);
      expect(seen).toEqual(["m-1"]);
    });
  });
});

describe("a start during which it is closed", () => {
  test("leaves neither the place nor an epoch: another process works, and so does the same inbox anew", async () => {
    const { open, state } = takeOvers();
    const file = path();
    const { inbox, heard, work } = inboxOn(file, { openThread: open });
    await inbox.open(HOST);
    const { promise, resolve } = deferred();
    state.held = promise;
    const started = watch(work());
    await turns();
    const closed = inbox.close();
    const other = inboxOn(file);
    await other.inbox.open(HOST);
    await other.work();
    expect(other.heard).toEqual([]);
    resolve();
    await closed;
    await until(() => started.ended);
    await eventually(() => expect([heard, other.heard]).toEqual([[], ["begin"]]));
    await other.inbox.close();
    await inbox.open(HOST);
    expect(await inbox.store([mail(["a"])])).toMatchObject([{ expanded: false }]);
    await work();
    expect(heard).toEqual(["begin"]);
  });
});

describe("one inbox given to two receivers", () => {
  test("serves the first alone, also while that still opens; and the second when the first is closed", async () => {
    const { inbox } = inboxOn(path());
    const [one, two] = [{ ...HOST }, { ...HOST }];
    const opened = inbox.open(one);
    await expect(inbox.open(two)).rejects.toBeInstanceOf(UsageError);
    await opened;
    await expect(inbox.open(two)).rejects.toMatchObject({ code: "inbox-shared" });
    await inbox.open(one);
    await inbox.close();
    await inbox.open(two);
    await expect(inbox.open(one)).rejects.toMatchObject({ code: "inbox-shared" });
  });

  test("is free again when it could not be opened", async () => {
    const folder = folderFor();
    rmSync(folder, { recursive: true });
    const { inbox } = inboxOn(join(folder, "inbox.db"));
    await expect(inbox.open({ ...HOST })).rejects.toMatchObject({ code: "folder-missing" });
    await expect(inbox.open({ ...HOST })).rejects.toMatchObject({ code: "folder-missing" });
  });
});
