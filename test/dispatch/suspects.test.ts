import type { Worker } from "hookline/adapter";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred, turns } from "../support/event-loop.ts";
import { crashWhileRunning, processRestarts } from "../support/process-restarts.ts";
import { emails, heldHandler, idOf } from "../support/rig.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function named(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

describe("after one death", () => {
  test("a job is claimed only when it is about to run: a second death makes no more suspects than run at once", async () => {
    const process = processRestarts({ concurrency: 10 });
    const first = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler));
    await first.send(emails(...named("m", 20)));
    await first.pass();
    expect(process.store.stats().running).toBe(20);
    await process.next(({ receiver }) => receiver.on("email", heldHandler().handler));
    expect(process.store.stats().running).toBe(10);
    const { calls, handler } = heldHandler();
    const { pass, receiver } = await process.next(({ receiver: own }) => own.on("email", handler));
    const seen = (): string[] => calls.map(({ event }) => idOf(event));
    const [rest, suspects] = [seen(), named("m", 20).filter((name) => !seen().includes(name))];
    expect([rest.length, suspects.length]).toEqual([10, 10]);
    for (const call of calls) call.end();
    await pass();
    expect(seen().slice(10).toSorted()).toEqual(suspects.toSorted());
    for (const call of calls.slice(10)) call.end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 20, dead: 0 });
  });

  test("is claimed ahead again when all of those have begun", async () => {
    const process = processRestarts({ concurrency: 10 });
    const first = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler));
    await first.send(emails(...named("m", 20)));
    await first.pass();
    const { calls, handler } = heldHandler();
    const { pass, send } = await process.next(({ receiver }) => receiver.on("email", handler));
    await send(emails(...named("n", 40)));
    let ended = 0;
    while (!named("m", 20).every((name) => calls.some(({ event }) => idOf(event) === name))) {
      expect(process.store.stats().running).toBe(10);
      calls[ended]?.end();
      ended += 1;
      await pass();
    }
    calls[ended]?.end();
    await pass();
    expect(process.store.stats().running).toBeGreaterThanOrEqual(20);
  });
});

describe("a suspect", () => {
  test("does not begin before what ran is settled: its death would be counted for that as well", async () => {
    const process = await crashWhileRunning(["s"], 2);
    const settled = deferred();
    onTestFinished(() => settled.resolve());
    const { settle } = process.store;
    const { calls, handler } = heldHandler();
    const { pass } = await process.next(({ receiver, send }) => {
      receiver.on("email", (event, ctx) => (idOf(event) === "o" ? undefined : handler(event, ctx)));
      process.store.settle = async (settlements) => {
        await settled.promise;
        return settle(settlements);
      };
      return send(emails("o"));
    });
    await pass(40 * SECOND);
    expect(process.store.stats()).toMatchObject({ waiting: 1, running: 1 });
    expect(calls).toEqual([]);
    settled.resolve();
    await pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["s"]);
  });

  test.each([
    ["the others' turn", 0],
    ["the wait for their end", 31 * SECOND],
  ])("is left in peace by a close in %s, which ends in its time", async (_, ms) => {
    const process = await crashWhileRunning(["s"], 2);
    const { handler } = heldHandler();
    const { pass, receiver } = await process.next((life) => {
      life.receiver.on("email", handler, { timeoutMs: 0 });
      return life.send(emails("o"));
    });
    await pass(ms);
    const closed = receiver.close({ drainMs: 10 * SECOND });
    await pass(10 * SECOND);
    expect(await closed).toEqual({ done: 0, released: 0, stuck: 1 });
    expect(process.store.stats()).toMatchObject({ waiting: 1, running: 1 });
  });

  test("that runs when the receiver closes is given back, with others of its group", async () => {
    const process = await crashWhileRunning(["s", "t"], 2);
    const { handler } = heldHandler();
    const { pass, receiver } = await process.next((life) => {
      life.receiver.on("email", async (event, ctx) => {
        void handler(event, ctx);
        await new Promise((_, reject) => ctx.signal.addEventListener("abort", reject));
      });
    });
    const closed = receiver.close({ drainMs: 10 * SECOND });
    await pass(10 * SECOND);
    expect(await closed).toEqual({ done: 0, released: 2, stuck: 0 });
    const { calls, handler: next } = heldHandler();
    await process.next((life) => life.receiver.on("email", next));
    expect(calls.map(({ ctx }) => ctx.attempt)).toEqual([3, 3]);
  });

  test("does not wait for ever beside calls that take longer than 30 s", async () => {
    const process = await crashWhileRunning(["s"], 2, processRestarts({ concurrency: 2, timeoutMs: 0 }));
    const seen: string[] = [];
    const { clock } = process;
    const life = await process.next(({ receiver, send }) => {
      receiver.on("email", async (event) => {
        seen.push(idOf(event));
        await new Promise<void>((resolve) => clock.setTimer(resolve, MINUTE));
      });
      return send(emails(...named("o", 40)));
    });
    await life.pass(5 * MINUTE);
    expect(seen).toContain("s");
    await life.pass(30 * MINUTE);
    await life.receiver.idle();
    expect(seen.toSorted()).toEqual([...named("o", 40), "s"].toSorted());
  });

  test("waits for what is claimed or given back when its turn comes", async () => {
    const process = await crashWhileRunning(["s"], 2, processRestarts({ timeoutMs: 0 }));
    const { store } = process;
    const { claim, settle } = store;
    const { calls, handler } = heldHandler();
    const { pass, send } = await process.next(
      (life) => {
        life.receiver.on("email", handler);
        return life.send(emails(...named("o", 2)));
      },
      { concurrency: 2 },
    );
    const seen = (): string[] => calls.map(({ event }) => idOf(event));
    expect(seen()).toEqual(["o0", "o1"]);
    await pass(29 * SECOND);
    const [claimed, released] = [deferred(), deferred()];
    store.claim = async (limits) => {
      const found = await claim(limits);
      await claimed.promise;
      return found;
    };
    await send(emails("o2"));
    await pass();
    for (const call of calls) call.end();
    await pass(SECOND);
    expect(store.stats()).toMatchObject({ waiting: 1, running: 1 }); // "o2" is on its way
    store.settle = async (settlements) => {
      await released.promise;
      return settle(settlements);
    };
    [store.claim] = [claim];
    claimed.resolve();
    await pass(SECOND);
    expect(seen()).toEqual(["o0", "o1"]); // "o2" is given back
    released.resolve();
    await pass();
    expect(seen()).toEqual(["o0", "o1", "s"]);
    calls[2]?.end();
    await pass();
    expect(seen()).toEqual(["o0", "o1", "s", "o2"]);
  });

  test("is passed over at the end of a turn by a claim that was prefetched and has not started", async () => {
    const process = await crashWhileRunning(["s"], 2, processRestarts({ timeoutMs: 0 }));
    const { calls, handler } = heldHandler();
    const { pass } = await process.next(
      (life) => {
        life.receiver.on("email", handler);
        return life.send(emails(...named("o", 3)));
      },
      { concurrency: 1 },
    );
    const seen = (): string[] => calls.map(({ event }) => idOf(event));
    calls[0]?.end(); // nothing died over what is claimed now: there is one ahead
    await pass();
    expect(process.store.stats().running).toBe(2);
    await pass(30 * SECOND);
    expect(process.store.stats().running).toBe(1);
    calls[1]?.end();
    await pass();
    expect(seen()).toEqual(["o0", "o1", "s"]);
    calls[2]?.end();
    await pass();
    expect(seen()).toEqual(["o0", "o1", "s", "o2"]);
  });
});

test("a suspect has its turn beside a load, also where another process had the work in between", async () => {
  const process = await crashWhileRunning(["s"], 2, processRestarts({ concurrency: 2 }));
  const { store, clock } = process;
  const { work } = store;
  const workers: Worker[] = [];
  store.work = (worker) => {
    workers.push(worker);
    return work(worker);
  };
  const seen: string[] = [];
  const { pass } = await process.next(({ receiver, send }) => {
    receiver.on("email", async (event) => {
      seen.push(idOf(event));
      await new Promise<void>((resolve) => clock.setTimer(resolve, 10 * SECOND));
    });
    return send(emails(...named("o", 40)));
  });
  workers[0]?.end();
  workers[0]?.begin();
  await pass(MINUTE);
  expect(seen).toContain("s");
});

describe("many suspects", () => {
  test("200 of them, of 30 s each, are done within 10 minutes, and the others have half of the time", async () => {
    const process = await crashWhileRunning(named("s", 200), 2);
    const at: Record<"suspect" | "other", number> = { suspect: 0, other: 0 };
    const done = { suspect: 0, other: 0 };
    const beside: string[] = [];
    const work = async (kind: "suspect" | "other", ms: number): Promise<void> => {
      if (at[kind === "suspect" ? "other" : "suspect"] > 0) beside.push(kind);
      at[kind] += 1;
      await new Promise<void>((resolve) => process.clock.setTimer(resolve, ms));
      at[kind] -= 1;
      done[kind] += 1;
    };
    const life = await process.next(
      ({ receiver, send }) => {
        receiver.on("email", (event) =>
          idOf(event).startsWith("s") ? work("suspect", 30 * SECOND) : work("other", 10 * SECOND),
        );
        return send(emails(...named("o", 3_000)));
      },
      { concurrency: 100 },
    );
    const started = process.clock.now();
    let busy = 0;
    let passed = 0;
    while (done.suspect < 200 && passed < 20 * MINUTE) {
      await process.clock.advance(SECOND);
      passed += SECOND;
      if (at.other > 0) busy += SECOND;
    }
    expect(done.suspect).toBe(200);
    expect(process.clock.now() - started).toBeLessThanOrEqual(10 * MINUTE);
    expect(busy / passed).toBeGreaterThanOrEqual(0.5);
    expect(beside).toEqual([]);
    expect(life.receiver.stats().dead).toBe(0);
  });

  test("one poison among 100 innocents is found by halving: it alone ends dead, and all of them are done", async () => {
    const names = named("m", 100);
    const poison = "m61";
    const process = await crashWhileRunning(names, 2);
    const done: string[] = [];
    const dead: string[] = [];
    let deaths = 0;
    for (let isDead = true; isDead && deaths < 200;) {
      isDead = false;
      const die = (): Promise<void> => {
        isDead = true;
        return new Promise(() => {});
      };
      const life = await process.next(
        ({ receiver }) => {
          receiver.on("email", async (event) => {
            await turns(1);
            if (idOf(event) === poison) return die();
            await turns(1);
            if (isDead) return die();
            done.push(idOf(event));
            return undefined;
          });
          receiver.onDead(({ event }) => dead.push(idOf(event)));
        },
        { concurrency: 100 },
      );
      await life.pass(SECOND);
      if (isDead) deaths += 1;
      else await life.receiver.idle();
    }
    expect(dead).toEqual([poison]);
    expect(done.toSorted()).toEqual(names.filter((name) => name !== poison).toSorted());
    expect(deaths).toBeLessThanOrEqual(Math.ceil(Math.log2(100)) + 1);
  });
});
