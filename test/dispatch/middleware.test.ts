import type { AnyEvent, Context } from "hookline";
import { describe, expect, test } from "vitest";
import type { Middleware } from "../../src/dispatch/handlers.ts";
import { compose } from "../../src/dispatch/calls/run-handler.ts";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { emailEvent } from "../support/events.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { emails, failingHandler, heldHandler, rig } from "../support/rig.ts";

const given = [emailEvent("created") as AnyEvent, {} as Context] as const;

interface State {
  names?: string[];
}

const stateOf = (ctx: Context): State => ctx.state as State;

/** A middleware that says when it begins and ends. */
function named(name: string, said: string[]): Middleware {
  return async (_event, _ctx, next) => {
    said.push(`${name} begins`);
    await next();
    said.push(`${name} ends`);
  };
}

describe("middleware", () => {
  test("runs around the handler, in the order of `use`", async () => {
    const said: string[] = [];
    const handler = compose([named("one", said), named("two", said)], async () => void said.push("handler"));
    await handler(...given);
    expect(said).toEqual(["one begins", "two begins", "handler", "two ends", "one ends"]);
  });

  test("gets the event and the context of the handler", async () => {
    const seen: unknown[] = [];
    await compose(
      [(event, ctx, next) => (seen.push(event, ctx), next())],
      (event, ctx) => void seen.push(event, ctx),
    )(...given);
    expect(seen).toEqual([...given, ...given]);
  });

  test("waits for the handler in next(), and sees it fail", async () => {
    const seen: unknown[] = [];
    const observing: Middleware = async (_event, _ctx, next) => {
      await next().catch((error: unknown) => seen.push(error));
    };
    await compose([observing], async () => Promise.reject(new Error("no")))(...given);
    await compose([observing], () => {
      throw new Error("at once");
    })(...given);
    expect(seen).toMatchObject([{ message: "no" }, { message: "at once" }]);
  });

  test("that does not call next() keeps the handler from running", async () => {
    let runs = 0;
    await compose([async () => {}], () => (runs += 1))(...given);
    expect(runs).toBe(0);
  });

  test("that calls next() twice is rejected, and the handler runs once", async () => {
    let runs = 0;
    const twice: Middleware = async (_event, _ctx, next) => {
      await next();
      await next();
    };
    const call = compose([twice], () => (runs += 1));
    await expect(call(...given)).rejects.toMatchObject({ code: "next-misused" });
    expect(runs).toBe(1);
    await expect(call(...given)).rejects.toMatchObject({ code: "next-misused" });
    expect(runs).toBe(2);
  });

  test("that calls next() only after it returned is rejected, and its handler does not run", async () => {
    let [runs, late] = [0, (): Promise<void> => Promise.resolve()];
    const log = logRecorder();
    await compose([(_event, _ctx, next) => void (late = next)], () => (runs += 1))(given[0], {
      log: log.logger,
    } as Context);
    void late(); // ends no process where nobody hears it
    await expect(late()).rejects.toMatchObject({ code: "next-misused", fix: expect.stringContaining("await it") });
    expect(runs).toBe(0);
    expect(log.of("next-misused"), "the call has ended without it").toMatchObject([
      { level: "error" },
      { level: "error" },
    ]);
  });

  test("that stops waiting for the rest before its end ends with it, and fails with it, all the same", async () => {
    for (const error of [undefined, new Error("no")]) {
      const { promise, resolve, reject } = deferred();
      const impatient: Middleware = async (_event, _ctx, next) => {
        await Promise.race([next(), Promise.resolve()]);
      };
      const call = watch(Promise.resolve(compose([impatient], () => promise)(...given)));
      await turns();
      expect(call.ended).toBe(false);
      if (error === undefined) resolve();
      else reject(error);
      await turns();
      expect(call).toMatchObject(error === undefined ? { ended: true } : { ended: true, error });
    }
  });

  test("that calls next() only after it threw is rejected, too", async () => {
    let [runs, late] = [0, (): Promise<void> => Promise.resolve()];
    const thrower: Middleware = (_event, _ctx, next) => {
      late = next;
      throw new Error("no");
    };
    const ctx = { log: logRecorder().logger } as Context;
    const ended = compose([thrower], () => (runs += 1))(given[0], ctx) as Promise<void>;
    const told = expect(late()).rejects.toMatchObject({ code: "next-misused" });
    await expect(ended).rejects.toThrow("no");
    await told;
    expect(runs).toBe(0);
  });

  test("gets a plain promise from next(), also where the rest throws at once", async () => {
    const prototypes: unknown[] = [];
    const outer: Middleware = (_event, _ctx, next) => {
      const rest = next();
      prototypes.push(Object.getPrototypeOf(rest));
      return rest;
    };
    const failing = compose([outer, outer], () => {
      throw new Error("at once");
    });
    await expect(failing(...given)).rejects.toThrow("at once");
    expect(prototypes).toEqual([Promise.prototype, Promise.prototype]);
  });

  test("fails the call with what it throws", async () => {
    const call = compose([async () => Promise.reject(new Error("not allowed"))], () => {});
    await expect(call(...given)).rejects.toThrow("not allowed");
  });

  test("there is none of is the handler itself", () => {
    const handler = () => "as it is";
    expect(compose([], handler)).toBe(handler);
  });
});

describe("receiver.use", () => {
  test("runs it around every handler, with one state for all of a call", async () => {
    const { receiver, send } = rig();
    const said: unknown[] = [];
    receiver.use(async (_event, ctx, next) => {
      Object.assign(ctx.state, { tenant: ctx.jobId });
      await next();
      said.push("done");
    });
    receiver.on("email", (_event, ctx) => said.push((ctx.state as { tenant?: string }).tenant === ctx.jobId));
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    await send(emails("b"));
    await receiver.idle();
    expect(said).toEqual([true, "done", true, "done"]);
  });

  test("makes a call fail by throwing, and done by not calling next()", async () => {
    const { receiver, send, pass } = rig({ attempts: 1 });
    let runs = 0;
    receiver.use((event, _ctx, next) => {
      if (event.type === "email.deleted") return undefined;
      if (event.type === "email.created") throw new Error("not allowed");
      return next();
    });
    receiver.on("email", () => (runs += 1));
    await receiver.start();
    await send(emails("a"));
    for (const type of ["created", "deleted"]) await send(emails("b").replace("updated", type));
    await pass();
    expect(runs).toBe(1);
    expect(receiver.stats()).toMatchObject({ succeeded: 2, failed: 1, dead: 1 });
  });

  test.each<[string, Middleware]>([
    ["does not wait for next()", (_event, _ctx, next) => void next()],
    ["is async and does not wait for next()", async (_event, _ctx, next) => void next()],
    [
      "throws while its inside runs",
      (_event, _ctx, next) => {
        void next();
        throw new Error("no");
      },
    ],
  ])("does not end the job before its handler where it %s", async (_, middleware) => {
    const { receiver, send, inbox } = rig();
    const { calls, handler } = heldHandler();
    receiver.use(middleware).on("email", handler, { merge: false });
    await receiver.start();
    await send(emails("a", "a"));
    await turns();
    expect([calls.length, inbox.stats().running]).toEqual([1, 1]);
    calls[0]?.end();
    await turns();
    expect(calls.length + inbox.stats().blockedLanes).toBe(2);
  });

  test("that calls next() after it returned runs no handler beside another one of its lane", async () => {
    const { receiver, send, pass, clock } = rig();
    const { calls, handler } = heldHandler();
    let times = 0;
    receiver.use((_event, _ctx, next) => {
      times += 1;
      if (times > 1) return next();
      return void clock.setTimer(() => void next(), 1_000);
    });
    receiver.on("email", handler, { merge: false });
    await receiver.start();
    await send(emails("a", "a"));
    await pass(5_000);
    expect(calls.length).toBe(1);
  });

  test.each<[string, Middleware]>([
    ["returns nothing", (_event, _ctx, next) => void next()],
    ["is async", async (_event, _ctx, next) => void next()],
  ])("fails with its handler where it did not wait and %s", async (_, middleware) => {
    const { receiver, send, pass } = rig({ attempts: 1 });
    receiver.use(middleware).on("email", failingHandler().handler);
    await receiver.start();
    await send(emails("a"));
    await pass();
    expect(receiver.stats()).toMatchObject({ succeeded: 0, dead: 1 });
  });

  test("that never awaited its handler fails with it, also when it ends later", async () => {
    const { receiver, send, pass } = rig({ attempts: 1 });
    receiver.use(async (_event, _ctx, next) => {
      void next();
      await turns();
    });
    receiver.on("email", failingHandler().handler);
    await receiver.start();
    await send(emails("a"));
    await pass();
    expect(receiver.stats()).toMatchObject({ succeeded: 0, dead: 1 });
  });

  test("that only chains on next() fails with its handler, and nothing is unhandled", async () => {
    const { receiver, send, pass } = rig({ attempts: 1 });
    let stopped = 0;
    receiver.use((_event, _ctx, next) => {
      void next().finally(() => (stopped += 1));
    });
    receiver.on("email", failingHandler().handler);
    await receiver.start();
    await send(emails("a"));
    await pass();
    expect(stopped).toBe(1);
    expect(receiver.stats()).toMatchObject({ succeeded: 0, dead: 1 });
  });

  test.each<[string, (next: () => Promise<void>) => unknown]>([
    [
      "await after other work",
      async (next) => {
        const rest = next();
        await turns();
        try {
          await rest;
        } catch {
          // swallowed
        }
      },
    ],
    ["then", (next) => next().then(undefined, () => {})],
    [
      "finally",
      async (next) =>
        next()
          .finally(() => {})
          .catch(() => {}),
    ],
    ["Promise.allSettled", (next) => Promise.allSettled([next()])],
  ])("may swallow what its handler throws, by %s: the job is done, and the process lives", async (_, swallow) => {
    const { receiver, send } = rig();
    receiver.use((_event, _ctx, next) => swallow(next)).on("email", failingHandler().handler);
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0 });
  });

  test("may swallow what its handler throws: the job is done", async () => {
    const { receiver, send } = rig();
    receiver.use((_event, _ctx, next) => next().catch(() => {})).on("email", failingHandler().handler);
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0 });
  });

  test("runs in the order of `use`, outermost first, once for a merged call", async () => {
    const { receiver, send } = rig();
    const said: string[] = [];
    for (const name of ["one", "two", "three"])
      receiver.use(async (_event, _ctx, next) => {
        said.push(`${name} begins`);
        await next();
        said.push(`${name} ends`);
      });
    receiver.on("email", (_event, ctx) => said.push(`handler of ${ctx.merged}`));
    await send(emails("a", "a"));
    await receiver.start();
    await receiver.idle();
    const names = ["one", "two", "three"];
    expect(said).toEqual([
      ...names.map((name) => `${name} begins`),
      "handler of 2",
      ...names.toReversed().map((name) => `${name} ends`),
    ]);
  });

  test("runs around each attempt of each consumer, with a state that is fresh each time", async () => {
    const { receiver, send, pass } = rig();
    const seen: string[] = [];
    receiver.use((_event, ctx, next) => {
      stateOf(ctx).names = [...(stateOf(ctx).names ?? []), "outer"];
      return next();
    });
    receiver.use((_event, ctx, next) => {
      stateOf(ctx).names?.push("inner");
      return next();
    });
    for (const consumer of ["one", "two"])
      receiver.on(
        "email",
        (_event, ctx) => {
          seen.push(`${consumer} ${ctx.attempt} ${String(stateOf(ctx).names)}`);
          if (ctx.attempt === 1) throw new Error("no");
        },
        { consumer },
      );
    await receiver.start();
    await send(emails("a"));
    await pass(1_000);
    expect(seen.toSorted()).toEqual([
      "one 1 outer,inner",
      "one 2 outer,inner",
      "two 1 outer,inner",
      "two 2 outer,inner",
    ]);
  });

  test("that catches what the handler throws makes the job done", async () => {
    const { receiver, send } = rig();
    const caught: unknown[] = [];
    receiver.use((_event, _ctx, next) => next().catch((error: unknown) => caught.push(error)));
    receiver.on("email", () => Promise.reject(new Error("no")));
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(caught).toMatchObject([{ message: "no" }]);
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0 });
  });

  test("counts within the time limit, and sees its abort", async () => {
    const { receiver, send, pass } = rig({ timeoutMs: 1_000, attempts: 1 });
    receiver.use(
      (_event, ctx) =>
        new Promise((_, reject) => {
          ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error));
        }),
    );
    receiver.on("email", () => {});
    await receiver.start();
    await send(emails("a"));
    await pass(1_000);
    expect(receiver.stats()).toMatchObject({ failed: 1, dead: 1 });
  });
});
