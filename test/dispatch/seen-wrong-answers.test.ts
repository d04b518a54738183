import type { SeenStore } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { turns, until, watch } from "../support/event-loop.ts";
import { makeDelivery, signedRequest } from "../support/make-delivery.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";

function answering(claim: SeenStore["claim"], timeoutMs = 20_000) {
  const own = rig({ secret: "shh", gaps: false });
  const { seen: ran, handler } = recordingHandler();
  own.receiver.on("email", handler);
  const seen: SeenStore = { claim, settle: async () => {} };
  const ask = async (body: string): Promise<number> => {
    const request = signedRequest(body, { secret: "shh", at: own.clock.date() });
    return (await own.receiver.receive(request, { answer: "after-handlers", timeoutMs, seen })).status;
  };
  return { ...own, ran, ask };
}

describe("a store that says of everything that it was done", () => {
  test("refuses the delivery after a thousand keys, with the cause in the log", async () => {
    let claims = 0;
    const { ask, ran, log } = answering(async () => {
      claims += 1;
      await turns(1);
      return "done";
    });
    const answer = watch(ask(emails("a", "b")));
    await until(() => answer.ended);
    expect([answer.value, claims, ran]).toEqual([503, 1_000, []]);
    const message = expect.stringContaining("gave done for each of 1000 keys") as string;
    expect(log.of("handlers-failed")).toMatchObject([
      { facts: { err: { cause: { errors: [{ code: "seen-failed", message }, { message }] } } } },
    ]);
  });

  test.each([
    ["the time of the delivery is over", async () => {}],
    ["the receiver closes", async (own: ReturnType<typeof answering>) => void own.receiver.close({ drainMs: 0 })],
  ])("is not asked any more when %s", async (_, end) => {
    let claims = 0;
    const own = answering(async () => {
      claims += 1;
      await new Promise<void>((resolve) => own.clock.setTimer(resolve, 1_000));
      return "done";
    });
    const answer = watch(own.ask(emails("a")));
    await own.pass(3_500);
    expect(claims).toBe(4);
    await end(own);
    await own.pass(20_000);
    const asked = claims;
    await own.pass(20_000);
    expect([answer.value, claims]).toEqual([503, asked]);
  });
});

describe("a store that gives no answer", () => {
  const never = (): Promise<never> => new Promise(() => {});
  const names = Array.from({ length: 1_000 }, (_, place) => `m-${place}`);

  /** A queue's message of a thousand events. */
  function handling(seen: SeenStore) {
    const own = rig({ gaps: false });
    const { seen: ran, handler } = recordingHandler();
    own.receiver.on("email", handler);
    return {
      ...own,
      ran,
      outcome: watch(own.receiver.handle(toStored("d-1", makeDelivery(emails(...names))), { seen })),
    };
  }

  test("to a claim ends the delivery when the first event has waited for it", async () => {
    const { outcome, ran, pass, receiver } = handling({ claim: never, settle: async () => {} });
    await pass(5_000);
    expect([outcome.error, ran]).toMatchObject([{ code: "handle-failed", cause: { code: "seen-failed" } }, []]);
    expect(receiver.stats()).toMatchObject({ failed: 1, succeeded: 0 });
  });

  test("to a claim is given up at half of the delivery's time, and named: the handlers are not to blame", async () => {
    const { ask, ran, pass, log } = answering(never, 3_000);
    const answer = watch(ask(emails("a")));
    await pass(1_500);
    expect([answer.value, ran]).toEqual([503, []]);
    const message = expect.stringContaining("The `seen` store gave no answer within 1500 ms.") as string;
    const cause = { code: "seen-failed", cause: { message } };
    expect(log.of("handlers-failed")).toMatchObject([{ facts: { err: { cause } } }]);
  });

  test("to what was done ends the delivery, too: it comes again", async () => {
    const { outcome, ran, pass } = handling({ claim: async () => "mine", settle: never });
    await pass(5_000);
    expect([outcome.error, ran]).toMatchObject([{ code: "handle-failed", cause: { code: "seen-failed" } }, ["m-0"]]);
  });

  test("about the last event leaves the delivery done", async () => {
    const { receiver, pass } = rig({ gaps: false });
    receiver.on("email", () => {});
    const seen: SeenStore = { claim: async () => "mine", settle: never };
    const outcome = watch(receiver.handle(toStored("d-1", makeDelivery(emails("a"))), { seen }));
    await pass(5_000);
    expect(outcome).toEqual({ ended: true });
  });
});
