import type { Gate, UnsubscribeDecision } from "hookline";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { turns } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { changes, expectBare, mounted, type Mounted, type Setup } from "../support/mounted.ts";

/** What a user's program may answer against the types. */
type AnyGate = (...args: Parameters<Gate>) => unknown;

/** What the gate did, and what became of the delivery. */
const STORED_ALL_THE_SAME: unknown = expect.stringMatching(/^the gate.* \w.*: the delivery is stored$/);

function gated(gate: AnyGate, setup: Setup = {}): Promise<Mounted> {
  return mounted({ ...setup, prepare: (own) => void own.unsubscribeWhen(gate as Gate) });
}

describe("whatever else the gate does, the delivery is stored and answered 200:", () => {
  const decisions: UnsubscribeDecision[] = [];
  const lookalike = { reason: "gone", status: 422, statusCode: 422 };

  test.each<[string, AnyGate]>([
    ["nothing", () => undefined],
    ["null", () => null],
    ["false", () => false],
    ["true", () => true],
    ["a promise of true", async () => true],
    ["422", () => 422],
    ["a text", () => "unsubscribe"],
    ["an object that looks like a decision", () => lookalike],
    ["a decision's copy", (_, unsubscribe) => ({ ...unsubscribe("gone") })],
    ["an object whose prototype is a decision", (_, unsubscribe) => Object.create(unsubscribe("gone")) as unknown],
    [
      "another object of the same class",
      (_, unsubscribe) => Object.create(Object.getPrototypeOf(unsubscribe("gone")) as object) as unknown,
    ],
    ["a list with a decision", (_, unsubscribe) => [unsubscribe("gone")]],
    ["the function that makes decisions", (_, unsubscribe) => unsubscribe],
    ["a decision that is made and not given back", (_, unsubscribe) => void unsubscribe("gone")],
    [
      "an error with a status of 422, thrown",
      () => {
        throw Object.assign(new Error("no"), { status: 422, statusCode: 422 });
      },
    ],
    [
      "an error with a status of 422, by promise",
      () => Promise.reject(Object.assign(new Error("no"), { status: 422 })),
    ],
    ["an error with a status of 422, given back", () => Object.assign(new Error("no"), { status: 422 })],
    [
      "a decision that is thrown",
      (_, unsubscribe) => {
        throw unsubscribe("gone");
      },
    ],
    ["a decision that a promise rejects with", (_, unsubscribe) => Promise.reject(unsubscribe("gone"))],
    [
      "an object that throws when it is looked at",
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error("no");
            },
            has: () => {
              throw new Error("no");
            },
            getPrototypeOf: () => {
              throw new Error("no");
            },
          },
        ),
    ],
    ["a reason that is no text", (_, unsubscribe) => [unsubscribe(Symbol("gone") as unknown as string)]],
  ])("%s", async (_, gate) => {
    const { deliver, receiver } = await gated(gate);
    expectBare(await deliver(), 200);
    expect(receiver.stats()).toMatchObject({ answered: { 200: 1 }, stored: 1 });
  });

  test("a decision of another subscription", async () => {
    const { deliver } = await gated(({ subscription }, unsubscribe) => {
      decisions.push(unsubscribe("gone"));
      return subscription === 1002 ? decisions[0] : undefined;
    });
    expectBare(await deliver(changes({ subscription: 1001 })), 200);
    expectBare(await deliver(changes({ subscription: 1002 })), 200);
  });

  test("a decision of an earlier call for the same subscription", async () => {
    let first: UnsubscribeDecision | undefined;
    const { deliver, log } = await gated((_, unsubscribe) => {
      if (first !== undefined) return first;
      first = unsubscribe("gone");
      return undefined;
    });
    expectBare(await deliver(), 200);
    expectBare(await deliver(), 200);
    expect(log.of("gate-answer")).toMatchObject([{ level: "error", message: STORED_ALL_THE_SAME }]);
  });

  test("a decision of an earlier call for the same number of another source", async () => {
    const made = new Map<number, UnsubscribeDecision>();
    const { deliver } = await gated(
      ({ subscription, source }, unsubscribe) => {
        if (source === "a") made.set(subscription, unsubscribe("account of a deleted"));
        return source === "b" ? made.get(subscription) : undefined;
      },
      { mount: { source: (req) => req.url?.slice(1) } },
    );
    expectBare(await deliver(changes(), { target: "/a" }), 200);
    expectBare(await deliver(changes(), { target: "/b" }), 200);
  });

  test("an answer that is later than `gate.timeoutMs`, whatever it becomes", async () => {
    const clock = fakeClock();
    let decide = (): void => {};
    const asked = vi.fn();
    const { deliver, log, receiver } = await gated(
      (_, unsubscribe) => {
        asked();
        return new Promise((resolve) => (decide = () => resolve(unsubscribe("gone"))));
      },
      { clock, gate: { timeoutMs: 250 } },
    );
    const answer = deliver();
    await eventually(() => expect(asked).toHaveBeenCalled());
    await clock.advance(249);
    expect(receiver.stats().answered).toEqual({});
    await clock.advance(1);
    expectBare(await answer, 200);
    decide();
    expect(log.of("gate-late")).toMatchObject([
      { level: "error", facts: { subscription: 1001, timeoutMs: 250 }, message: STORED_ALL_THE_SAME },
    ]);
  });

  test.each<[string, () => unknown]>([
    ["an error", () => new Error("too late")],
    ["a promise that rejects too, as where `await` is missing", () => Promise.reject(new Error("too late"))],
  ])("a late answer that rejects with %s", async (_, thrown) => {
    const clock = fakeClock();
    const ends: unknown[] = [];
    const note = (error: unknown): void => void ends.push(error);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    let fail = (): void => {};
    const asked = vi.fn();
    const { deliver, receiver } = await gated(
      () => {
        asked();
        return new Promise((__, reject) => (fail = () => reject(thrown())));
      },
      { clock },
    );
    const answer = deliver();
    await eventually(() => expect(asked).toHaveBeenCalled());
    await clock.advance(500);
    expectBare(await answer, 200);
    fail();
    expectBare(await deliver("{}"), 200);
    expect(receiver.stats().stored).toBe(2);
    await turns();
    expect(ends).toEqual([]);
  });

  test("nothing at all, by promise: that is no mistake, and nothing is logged", async () => {
    const { deliver, log } = await gated(async () => {});
    expectBare(await deliver(), 200);
    expect(log.lines).toEqual([]);
  });

  test("a promise that is thrown and rejects", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const { deliver, log } = await gated(() => {
      throw Promise.reject(new Error("no"));
    });
    expectBare(await deliver(), 200);
    await turns();
    expect(unhandled).toEqual([]);
    expect(log.of("gate-failed")).toHaveLength(1);
  });

  test("a throw, which is logged as an error with its cause", async () => {
    const { deliver, log } = await gated(() => {
      throw new Error("the database is away");
    });
    expectBare(await deliver(), 200);
    expect(log.of("gate-failed")).toMatchObject([
      { level: "error", facts: { err: { message: "the database is away" } }, message: STORED_ALL_THE_SAME },
    ]);
  });
});

test("a handler's error is never an answer, whatever status it carries", async () => {
  const { deliver, receiver } = await mounted({
    attempts: 1,
    prepare: (own) =>
      void own.on("email", () => {
        throw Object.assign(new Error("unprocessable"), { status: 422, statusCode: 422 });
      }),
  });
  await receiver.start();
  expectBare(await deliver(), 200);
  await receiver.idle();
  expectBare(await deliver(), 200);
  expect(receiver.stats()).toMatchObject({ answered: { 200: 2 }, failed: expect.any(Number) });
});
