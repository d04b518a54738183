import { describe, expect, test } from "vitest";
import { crashWhileRunning, processRestarts } from "../support/process-restarts.ts";
import { emails, heldHandler, idOf } from "../support/rig.ts";

const MINUTE = 60_000;

describe("when the process dies", () => {
  test("each job that ran counts one attempt and one death, and runs again", async () => {
    const process = await crashWhileRunning(["a", "b"], 1, processRestarts({ concurrency: 1 }));
    const { calls, handler, last } = heldHandler();
    const { pass, receiver } = await process.next((life) => life.receiver.on("email", handler));
    last().end();
    await pass();
    last().end();
    await receiver.idle();
    // "b" was claimed ahead: it may have been running, for all that anybody knows.
    expect(calls.map(({ event, ctx }) => [idOf(event), ctx.attempt])).toEqual([
      ["a", 2],
      ["b", 2],
    ]);
    expect(receiver.stats()).toMatchObject({ succeeded: 2 });
  });

  test("what waited behind counts nothing", async () => {
    const process = processRestarts({ concurrency: 1 });
    const first = await process.next(({ receiver }) =>
      receiver.on("email", heldHandler().handler, { lane: "account" }),
    );
    await first.send(emails("a", "b"));
    await first.pass();
    const { calls, handler, last } = heldHandler();
    const { pass } = await process.next(({ receiver }) => receiver.on("email", handler, { lane: "account" }));
    last().end();
    await pass();
    expect(calls.map(({ event, ctx }) => [idOf(event), ctx.attempt])).toEqual([
      ["a", 2],
      ["b", 1],
    ]);
  });

  test("a late end of the dead process changes nothing", async () => {
    const process = processRestarts();
    const old = heldHandler();
    const first = await process.next(({ receiver }) => receiver.on("email", old.handler));
    await first.send(emails("a"));
    await first.pass();
    const { handler, calls } = heldHandler();
    const { pass, receiver } = await process.next((life) => life.receiver.on("email", handler));
    old.last().end();
    await pass();
    expect(first.receiver.stats().succeeded).toBe(0);
    expect(process.store.stats()).toMatchObject({ running: 1 });
    calls[0]?.end();
    await receiver.idle();
    expect(receiver.stats().succeeded).toBe(1);
  });

  test("a job that was given back at a close counts no death", async () => {
    const process = processRestarts({ concurrency: 1 });
    for (let times = 0; times < 4; times += 1) {
      const life = await process.next(({ receiver }) =>
        receiver.on(
          "email",
          (_event, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)),
        ),
      );
      if (times === 0) await life.send(emails("a"));
      await life.pass();
      const closed = life.receiver.close({ drainMs: 1_000 });
      await life.pass(1_000);
      expect(await closed).toEqual({ done: 0, released: 1, stuck: 0 });
    }
    const { calls, handler } = heldHandler();
    await process.next(({ receiver }) => receiver.on("email", handler));
    expect(calls.map(({ ctx }) => ctx.attempt)).toEqual([1]);
  });
});

describe("a job over which the process died twice", () => {
  test("runs with nothing but suspects beside it", async () => {
    const process = await crashWhileRunning(["a", "b", "c"], 2);
    const { calls, handler } = heldHandler();
    const { send, pass, receiver } = await process.next((life) => life.receiver.on("email", handler), {
      concurrency: 2,
    });
    await send(emails("d"));
    await pass();
    const seen = (): string[] => calls.map(({ event }) => idOf(event));
    expect(seen()).toEqual(["a", "b"]);
    calls[0]?.end();
    await pass();
    expect(seen()).toHaveLength(2); // a group begins when the one before has ended
    calls[1]?.end();
    await pass();
    expect(seen()).toEqual(["a", "b", "c"]);
    calls[2]?.end();
    await pass();
    expect(seen()).toEqual(["a", "b", "c", "d"]);
    calls[3]?.end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 4, dead: 0 });
  });

  test("runs unmerged, and what follows it waits", async () => {
    const process = processRestarts();
    for (let death = 0; death < 2; death += 1) {
      const life = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler));
      if (death === 0) await life.send(emails("a", "a"));
      await life.pass();
    }
    const { calls, handler, last } = heldHandler();
    const { send, pass } = await process.next(({ receiver }) => receiver.on("email", handler));
    await send(emails("a"));
    await pass();
    expect(calls.map(({ ctx }) => ctx.merged)).toEqual([1]);
    last().end();
    await pass();
    last().end();
    await pass();
    expect(calls.map(({ ctx }) => [ctx.merged, ctx.attempt])).toEqual([
      [1, 3],
      [1, 3],
      [1, 1],
    ]);
  });

  test.each([[0], [60 * MINUTE]])("runs at most 5 minutes, whatever its timeoutMs (%d) says", async (timeoutMs) => {
    const process = await crashWhileRunning(["a"], 2, processRestarts({ timeoutMs }));
    const { handler, last } = heldHandler();
    const { pass } = await process.next(({ receiver }) => receiver.on("email", handler));
    await pass(5 * MINUTE - 1);
    expect(last().ctx.signal.aborted).toBe(false);
    await pass(1);
    expect(last().ctx.signal.aborted).toBe(true);
  });

  test.each([
    ["well", (): void => {}],
    [
      "badly",
      (): void => {
        throw new Error("no");
      },
    ],
  ])("has no deaths any more when its run ended %s", async (_, outcome) => {
    const process = await crashWhileRunning(["a"], 2);
    const one = await process.next(({ receiver }) => receiver.on("email", outcome));
    await one.send(emails("b"));
    await one.pass(10 * MINUTE);
    const { calls, handler } = heldHandler();
    // The worst that can happen to a job that is no suspect: it runs beside others.
    const { send, pass, receiver } = await process.next((life) => life.receiver.on("email", handler));
    await send(emails("a", "c"));
    await pass(10 * MINUTE);
    expect(calls.map(({ event }) => idOf(event))).toEqual(expect.arrayContaining(["a", "c"]));
    expect(receiver.stats().dead).toBe(0);
  });

  test("waits for its turn, and then until what runs has ended, and nothing new begins meanwhile", async () => {
    const process = processRestarts();
    const first = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler));
    await first.send(emails("poison"));
    await first.pass();
    const second = await process.next(({ receiver }) =>
      receiver.on("email", heldHandler().handler, { lane: "account" }),
    );
    await second.send(emails("x", "y"));
    await second.pass();
    const { calls, handler, last } = heldHandler();
    const { send, pass } = await process.next(({ receiver }) => receiver.on("email", handler));
    const seen = (): string[] => calls.map(({ event }) => idOf(event));
    expect(seen()).toEqual(["x"]);
    await send(emails("z"));
    await pass();
    expect(seen()).toEqual(["x", "z"]);
    calls[1]?.end();
    await pass(29_999);
    await send(emails("z"));
    await pass(1);
    expect(seen()).toEqual(["x", "z", "z"]);
    await send(emails("w"));
    calls[2]?.end();
    await pass(10_000);
    expect(seen()).toHaveLength(3);
    calls[0]?.end();
    await pass();
    expect(seen().slice(3)).toEqual(["poison"]);
    last().end();
    await pass();
    expect(seen().slice(4).toSorted()).toEqual(["w", "y"]);
  });

  test("waits beside a stuck handler, and the others do not", async () => {
    const process = await crashWhileRunning(["poison"], 1, processRestarts({ timeoutMs: 1_000, graceMs: 1_000 }));
    const second = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler));
    await second.send(emails("a"));
    await second.pass();
    const { calls, handler } = heldHandler();
    const { send, pass, receiver } = await process.next((life) => life.receiver.on("email", handler));
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a"]);
    await pass(2_000); // "a" is stuck
    await send(emails("b"));
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
    calls[0]?.end();
    calls[1]?.end();
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b", "poison"]);
    calls[2]?.end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 3 });
  });

  test("that is dropped while the others wait for it lets them go on at once", async () => {
    const process = processRestarts();
    const first = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler));
    await first.send(emails("poison"));
    await first.pass();
    const second = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler));
    await second.send(emails("a"));
    await second.pass();
    const { calls, handler } = heldHandler();
    const { send, pass } = await process.next(({ receiver }) => receiver.on("email", handler));
    await pass(30_000);
    await send(emails("b"));
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a"]);
    expect(await process.store.jobs.drop({ ids: ["2"] })).toBe(1);
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
  });

  test("that is erased before it begins leaves the others free", async () => {
    const process = await crashWhileRunning(["poison"], 2);
    const { calls, handler } = heldHandler();
    const { send, pass } = await process.next(({ receiver }) => {
      receiver.on("email", handler);
      void receiver.start().then(() => process.store.jobs.erase(2002));
    });
    await send(emails("a"));
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toContain("a");
  });

  test("dies of the third death: it is dead, and does not run again", async () => {
    const process = await crashWhileRunning(["poison"], 3);
    const { calls, handler } = heldHandler();
    const heard: unknown[] = [];
    const { receiver } = await process.next((life) => {
      life.receiver.on("email", handler).onDead((job) => heard.push([job, process.store.stats().dead]));
    });
    await receiver.idle();
    expect(calls).toEqual([]);
    expect(heard).toEqual([
      [
        expect.objectContaining({
          state: "dead",
          attempts: 3,
          lastError: expect.objectContaining({ message: expect.stringContaining("died") }),
        }),
        0,
      ],
    ]);
    expect(process.store.stats()).toMatchObject({ dead: 1, waiting: 0 });
    expect(receiver.stats().dead).toBe(1);
  });

  test("takes no innocent neighbour with it", async () => {
    const process = processRestarts();
    const dead: string[] = [];
    const done: string[] = [];
    for (let life = 0; life < 10; life += 1) {
      let poisoned = false;
      const { pass, send } = await process.next(({ receiver }) => {
        receiver.on("email", async (event) => {
          await Promise.resolve();
          if (idOf(event) === "poison") {
            poisoned = true;
            await new Promise(() => {});
          }
          // It takes its time while the process lives.
          if (poisoned) await new Promise(() => {});
          done.push(idOf(event));
        });
        receiver.onDead(({ event }) => dead.push(idOf(event)));
      });
      if (life === 0) await send(emails("poison", "a", "b", "c"));
      await pass(1);
    }
    expect(dead).toEqual(["poison"]);
    expect(done.toSorted()).toEqual(["a", "b", "c"]);
  });

  test("is marked without onDead where the process died three times over that as well", async () => {
    const process = await crashWhileRunning(["poison"], 3);
    let heard = 0;
    const listener = (): Promise<never> => {
      heard += 1;
      return new Promise(() => {});
    };
    for (let life = 0; life < 3; life += 1) {
      await process.next(({ receiver }) => receiver.on("email", heldHandler().handler).onDead(listener));
      expect(heard).toBe(life + 1);
    }
    const { receiver } = await process.next((life) =>
      life.receiver.on("email", heldHandler().handler).onDead(listener),
    );
    await receiver.idle();
    expect(heard).toBe(3);
    expect(process.store.stats()).toMatchObject({ dead: 1 });
  });
});
