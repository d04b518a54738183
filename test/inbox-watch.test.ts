import { describe, expect, test } from "vitest";
import { createInboxWatch, type InboxWatch } from "../src/inbox/standstill-watch.ts";
import { deferred, turns, watch as record } from "./support/event-loop.ts";
import { fakeClock } from "./support/fake-clock.ts";

const HANGS = (): Promise<never> => new Promise(() => {});

/** A watch of a process that works, unless it is told otherwise. */
function watched({ works = true } = {}) {
  const clock = fakeClock();
  const watch = createInboxWatch(clock);
  watch.works(works);

  /** Second by second, because each sets the next timer. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await turns(1);
      await clock.advance(1_000);
    }
    await turns(1);
  }

  return { clock, watch, pass };
}

/** An inbox that is asked for jobs, gives none, and is asked again. @param isDue by what it says */
function withhold(watch: InboxWatch, isDue: () => boolean): { readonly asked: () => number } {
  let asked = 0;
  function ask(): void {
    asked += 1;
    watch.gaveNothing("claim", { isDue, askAgain: () => queueMicrotask(ask) });
  }
  ask();
  return { asked: () => asked };
}

describe("a step stands still", () => {
  test.each(["expand", "claim", "settle"] as const)("once what is due of %s has not moved for 15 s", async (step) => {
    const { watch, pass } = watched();
    const cause = new Error("no");
    watch.failed(step, cause);
    await pass(14);
    expect(watch.standstill()).toBeUndefined();
    await pass(1);
    expect(watch.standstill()).toEqual({ step, seconds: 15, cause });
    await pass(50);
    expect(watch.standstill()).toEqual({ step, seconds: 65, cause });
  });

  test("of one thing, though all others move: the longest one is told, and it is over when it moves", async () => {
    const { watch, pass } = watched({ works: false });
    const [older, newer] = [watch.own("complete", "One"), watch.own("unsubscribe", "Another")];
    const cause = new Error("no");
    older.failed(cause);
    await pass(14);
    watch.moved("settle");
    expect(watch.standstill()).toBeUndefined();
    await pass(1);
    expect(watch.standstill()).toEqual({ step: "complete", of: "One", seconds: 15, cause });
    older.moved();
    expect(watch.standstill()).toEqual({ step: "unsubscribe", of: "Another", seconds: 15, cause: undefined });
    watch.works(true);
    watch.failed("claim", cause);
    await pass(15);
    expect(watch.standstill()).toMatchObject({ step: "claim", of: undefined });
    newer.moved();
    watch.moved("claim");
    expect(watch.standstill()).toBeUndefined();
  });

  test("while a call gives no answer: without a cause, until its time limit", async () => {
    const { watch, pass } = watched();
    record(watch.call("settle", "settle", HANGS));
    await pass(15);
    expect(watch.standstill()).toEqual({ step: "settle", seconds: 15, cause: undefined });
  });

  test("while the inbox gives nothing though something is due, and it is asked again each second", async () => {
    const { watch, pass } = watched();
    const { asked } = withhold(watch, () => true);
    await pass(15);
    expect(watch.standstill()).toMatchObject({ step: "claim", seconds: 15, cause: { code: "inbox-withholds" } });
    expect(asked()).toBe(16);
  });

  test("without the cause of a failure that is over", async () => {
    const { watch, pass } = watched();
    watch.failed("claim", new Error("over"));
    watch.moved("claim");
    record(watch.call("claim", "claim", HANGS));
    await pass(16);
    expect(watch.standstill()).toMatchObject({ cause: undefined });
  });

  test("though what failed before failed otherwise: the last cause is told", async () => {
    const { watch, pass } = watched();
    watch.failed("claim", new Error("first"));
    await pass(10);
    watch.failed("claim", new Error("last"));
    await pass(5);
    expect(watch.standstill()).toMatchObject({ cause: { message: "last" } });
  });

  test("of store only while a store is asked for", async () => {
    const { watch, pass } = watched();
    watch.failed("store", new Error("no"));
    await pass(60);
    expect(watch.standstill()).toBeUndefined();
    record(watch.call("store", "store", HANGS));
    await pass(15);
    expect(watch.standstill()).toMatchObject({ step: "store" });
  });

  test("longest first, where several do", async () => {
    const { watch, pass } = watched();
    watch.failed("settle", new Error("older"));
    await pass(2);
    record(watch.call("store", "store", HANGS));
    await pass(20);
    expect(watch.standstill()).toMatchObject({ step: "settle", seconds: 22 });
    watch.moved("settle");
    expect(watch.standstill()).toMatchObject({ step: "store", seconds: 20 });
  });

  test("until it moves, and counts from there", async () => {
    const { watch, pass } = watched();
    watch.failed("claim", new Error("no"));
    await pass(30);
    watch.moved("claim");
    expect(watch.standstill()).toBeUndefined();
    watch.failed("claim", new Error("no"));
    await pass(15);
    // The first second is the one in which it moved.
    expect(watch.standstill()).toBeUndefined();
    await pass(1);
    expect(watch.standstill()).toMatchObject({ seconds: 15 });
  });
});

describe("no step stands still", () => {
  test("any more once the inbox, asked again, has nothing due", async () => {
    const { watch, clock, pass } = watched();
    let isDue = true;
    const answer = (): void =>
      watch.gaveNothing("claim", { isDue: () => isDue, askAgain: () => queueMicrotask(again) });
    let again = answer;
    answer();
    await pass(16);
    expect(watch.standstill()).toMatchObject({ seconds: 16 });
    again = () => {
      isDue = false;
      answer();
    };
    await pass(1);
    expect([watch.standstill(), clock.waiting]).toEqual([undefined, 0]);
  });

  test("that fails again and again, but moves in between", async () => {
    const { watch, pass } = watched();
    for (let times = 0; times < 40; times += 1) {
      watch.moved("settle");
      watch.failed("settle", new Error("one of them"));
      await pass(1);
    }
    expect(watch.standstill()).toBeUndefined();
  });

  test("of a standby, but for what it stores", async () => {
    const { watch, pass } = watched({ works: false });
    for (const step of ["expand", "claim", "settle"] as const) watch.failed(step, new Error("no"));
    await pass(60);
    expect(watch.standstill()).toBeUndefined();
    record(watch.call("store", "store", HANGS));
    await pass(15);
    expect(watch.standstill()).toMatchObject({ step: "store" });
  });

  test("any more where another process took over; it counts anew when this one works again", async () => {
    const { watch, pass } = watched();
    watch.failed("claim", new Error("no"));
    record(watch.call("store", "store", HANGS));
    await pass(20);
    watch.works(false);
    expect(watch.standstill()).toMatchObject({ step: "store" });
    watch.moved("store");
    watch.works(true);
    await pass(20);
    expect(watch.standstill()).toBeUndefined();
  });

  test("because the wall clock was set", async () => {
    const { watch, clock, pass } = watched();
    watch.failed("claim", new Error("no"));
    clock.jump(3_600_000);
    await pass(14);
    clock.jump(-7_200_000);
    expect(watch.standstill()).toBeUndefined();
    await pass(1);
    expect(watch.standstill()).toMatchObject({ seconds: 15 });
  });

  test("because the process itself was stopped: its timers fire once, however late", async () => {
    const due: (() => void)[] = [];
    const watch = createInboxWatch({
      now: () => 0,
      setTimer(run) {
        due.push(run);
        return { clear() {} };
      },
    });
    const call = record(watch.call("store", "store", HANGS));
    await turns(1);
    expect(due).toHaveLength(1);
    due.shift()?.(); // an hour later
    await turns(1);
    expect([watch.standstill(), call.ended]).toEqual([undefined, false]);
  });

  test("where the inbox gave nothing and nothing is due any more before it is asked again", async () => {
    const { watch, pass } = watched();
    let isDue = true;
    const { asked } = withhold(watch, () => isDue);
    await pass(10);
    isDue = false;
    await pass(2);
    expect(asked()).toBe(11);
    isDue = true;
    withhold(watch, () => isDue);
    await pass(14);
    expect(watch.standstill()).toBeUndefined();
  });
});

describe("a call of the inbox", () => {
  test("gives what the verb gives, or throws", async () => {
    const { watch } = watched();
    const error = new Error("no");
    expect(await watch.call("claim", "claim", async () => 7)).toBe(7);
    expect(await watch.limit("jobs.reopen", async () => 8)).toBe(8);
    await expect(watch.call("claim", "claim", () => Promise.reject(error))).rejects.toBe(error);
    await expect(
      watch.limit("jobs.reopen", () => {
        throw error;
      }),
    ).rejects.toBe(error);
  });

  test("without an answer fails after 40 s, and says which", async () => {
    const { watch, pass } = watched();
    const call = record(watch.limit("jobs.unhandled", HANGS));
    await pass(39);
    expect(call.ended).toBe(false);
    await pass(1);
    expect(call.error).toMatchObject({ name: "StorageError", code: "inbox-hung" });
    expect(call.error).toMatchObject({ message: expect.stringContaining("`jobs.unhandled` for 40 s") });
  });

  test("that answers after the limit tells it once, and not the one who asked", async () => {
    const { watch, pass } = watched();
    const { promise, resolve } = deferred<string>();
    const late: string[] = [];
    const call = record(
      watch.call(
        "claim",
        "claim",
        () => promise,
        (value) => void late.push(value),
      ),
    );
    await pass(40);
    resolve("a claim");
    await pass(1);
    expect([call.value, late]).toEqual([undefined, ["a claim"]]);
  });

  test("that answers in time is not late, and one that fails after the limit harms nothing", async () => {
    const { watch, pass } = watched();
    const { promise, reject } = deferred();
    const late: unknown[] = [];
    await watch.call(
      "claim",
      "claim",
      async () => 1,
      (value) => late.push(value),
    );
    record(
      watch.call(
        "claim",
        "claim",
        () => promise,
        (value) => late.push(value),
      ),
    );
    await pass(40);
    reject(new Error("much later"));
    await pass(1);
    expect(late).toEqual([]);
  });

  test("of no step makes none due", async () => {
    const { watch, pass } = watched();
    record(watch.limit("jobs.reopen", HANGS));
    await pass(30);
    expect(watch.standstill()).toBeUndefined();
  });

  test("forgets that the inbox gave nothing before", async () => {
    const { watch, pass } = watched();
    const { asked } = withhold(watch, () => true);
    await watch.call("claim", "claim", async () => {});
    watch.moved("claim");
    await pass(3);
    expect(asked()).toBe(1);
  });
});

test("what is written is counted, and only that", () => {
  const { watch } = watched();
  watch.moved("settle");
  watch.moved("claim", false);
  watch.failed("store", new Error("no"));
  expect(watch.written).toBe(0);
  watch.moved("store", true);
  watch.moved("settle", true);
  expect(watch.written).toBe(2);
});

describe("no timer runs", () => {
  test("while nothing is due, nor for what is answered at once", async () => {
    const { watch, clock } = watched();
    await watch.call("store", "store", async () => {});
    watch.moved("store", true);
    withhold(watch, () => false);
    await turns(2);
    expect(clock.waiting).toBe(0);
  });

  test("any more once what was due has moved", async () => {
    const { watch, clock, pass } = watched();
    watch.failed("claim", new Error("no"));
    await pass(3);
    expect(clock.waiting).toBe(1);
    watch.moved("claim");
    await pass(1);
    expect(clock.waiting).toBe(0);
  });

  test("but one, whatever is due", async () => {
    const { watch, clock } = watched();
    record(watch.call("store", "store", HANGS));
    await turns(1);
    watch.failed("settle", new Error("no"));
    await turns(1);
    expect(clock.waiting).toBe(1);
  });

  test("but one, while the inbox is asked again each second", async () => {
    const { watch, clock, pass } = watched();
    watch.gaveNothing("claim", { isDue: () => true, askAgain: () => record(watch.call("claim", "claim", HANGS)) });
    await pass(5);
    expect(clock.waiting).toBe(1);
  });

  test("after the receiver closed, whatever fails then", async () => {
    const { watch, clock } = watched();
    watch.failed("claim", new Error("no"));
    await turns(1);
    watch.stop();
    expect(clock.waiting).toBe(0);
    record(watch.call("settle", "settle", HANGS));
    record(watch.call("store", "store", HANGS));
    await turns(2);
    expect(clock.waiting).toBe(0);
  });
});
