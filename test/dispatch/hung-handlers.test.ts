import { GiveUp, RetryLater } from "hookline";
import { describe, expect, test } from "vitest";
import { createHungHandlers } from "../../src/dispatch/calls/handler-calls.ts";
import { turns } from "../support/event-loop.ts";
import { emails, heldHandler, idOf, rig } from "../support/rig.ts";

const LIMITS = { concurrency: 1, timeoutMs: 1_000, graceMs: 500 };

/** A handler that was told to stop, had its grace, and runs on. */
async function stuck(options: Parameters<typeof rig>[0] = {}) {
  const made = rig({ ...LIMITS, ...options });
  const held = heldHandler();
  made.receiver.on("email", held.handler);
  await made.receiver.start();
  await made.send(emails("a"));
  await made.pass(60_000);
  return { ...made, ...held };
}

describe("a handler that ends long after its grace, its claim still standing,", () => {
  test("and well has done its job, and its lane goes on", async () => {
    const { receiver, send, pass, calls, inbox } = await stuck();
    await send(emails("a"));
    await pass();
    expect(calls).toHaveLength(1);
    calls[0]?.end();
    await pass();
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0 });
    expect([calls.length, inbox.stats().running]).toEqual([2, 1]);
  });

  test("does not give back the slot a second time that it gave back before", async () => {
    const { send, pass, calls } = await stuck();
    await send(emails("b", "c"));
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
    calls[0]?.end();
    await pass();
    expect(calls).toHaveLength(2); // "b" has the one slot there is
  });

  test.each([
    ["an error", new Error("no"), { failed: 1, retried: 1, dead: 0 }],
    ["RetryLater", new RetryLater({ afterSeconds: 5 }), { failed: 0, retried: 1, dead: 0 }],
    ["GiveUp", new GiveUp("gone"), { failed: 1, retried: 0, dead: 1 }],
  ])("with %s means what it says", async (_, error, counted) => {
    const { receiver, pass, calls } = await stuck();
    calls[0]?.fail(error);
    await pass();
    expect(receiver.stats()).toMatchObject(counted);
  });
});

describe("a handler that ends after its claim was lost", () => {
  test.each([
    ["well", undefined],
    ["with an error", new Error("no")],
    ["with RetryLater", new RetryLater({ afterSeconds: 5 })],
    ["with GiveUp", new GiveUp("gone")],
  ])("%s opens its lane, and changes nothing else: not the counts, not the log", async (_, error) => {
    const { receiver, send, pass, calls, inbox, log } = await stuck();
    expect((await inbox.jobs.erase(2002)).count).toBe(1);
    await send(emails("a"));
    await pass();
    expect(calls).toHaveLength(1); // never two at once: it still runs
    const before = { ...receiver.stats(), lines: log.lines.length };
    if (error === undefined) calls[0]?.end();
    else calls[0]?.fail(error);
    await pass(10_000);
    expect({ ...receiver.stats(), lines: before.lines }).toEqual(before);
    expect(log.lines.slice(before.lines).filter(({ message }) => message === "a handler failed")).toEqual([]);
    expect(inbox.stats()).toMatchObject({ waiting: 0, running: 1, dead: 0 });
    calls[1]?.end();
    await pass();
    expect(receiver.stats().succeeded).toBe(1);
  });

  test("gives its slot back once, whether it had given it back before or not", async () => {
    const { send, pass, calls, inbox } = await stuck({ maxStuck: 0 });
    await inbox.jobs.erase(2002);
    await send(emails("b", "c"));
    await pass();
    expect(calls).toHaveLength(1); // it keeps its slot as long as it runs
    calls[0]?.end();
    await turns();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
  });
});

describe("of handlers past their grace", () => {
  /** Each handler by its place; `freed` has those whose slots were given to others, in order. */
  function hung(max: number, count: number) {
    const freed: number[] = [];
    const handlers = createHungHandlers(max);
    const ends = Array.from({ length: count }, (_, index) => handlers.add(() => freed.push(index)));
    return { handlers, freed, end: (index: number) => ends[index]?.() };
  }

  test("as many as may give up their slots at once, and all others keep theirs", () => {
    const { handlers, freed } = hung(2, 4);
    expect(freed).toEqual([0, 1]);
    expect([handlers.size, handlers.jammed]).toEqual([4, true]);
  });

  test("one that keeps its slot gives it up when another that gave up its own ends, the oldest first", () => {
    const { handlers, freed, end } = hung(1, 3);
    end(0);
    expect(freed).toEqual([0, 1]);
    expect([handlers.size, handlers.jammed]).toEqual([2, true]);
    end(1);
    expect(freed).toEqual([0, 1, 2]);
    expect([handlers.size, handlers.jammed]).toEqual([1, false]);
  });

  test("one that kept its slot to its end frees that alone: the others still keep theirs", () => {
    const { handlers, freed, end } = hung(1, 3);
    end(2);
    expect(freed).toEqual([0, 2]);
    expect([handlers.size, handlers.jammed]).toEqual([2, true]);
    end(0);
    expect(freed).toEqual([0, 2, 1]);
    end(1);
    expect([handlers.size, handlers.jammed]).toEqual([0, false]);
  });
});
