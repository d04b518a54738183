import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { watch } from "../support/event-loop.ts";
import { bodyOf, change, makeDelivery, signedRequest } from "../support/make-delivery.ts";
import { emails, idOf, recordingHandler, rig } from "../support/rig.ts";

/** A receiver whose handlers hang for some events, until their signals abort. */
function hanging(...ids: readonly string[]) {
  const own = rig({ secret: "shh", gaps: false });
  const { seen, handler } = recordingHandler(
    (event, { signal }) =>
      ids.includes(idOf(event)) &&
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  );
  own.receiver.on("email.updated", handler, { timeoutMs: 0 });
  const ask = (body: string) => {
    const request = signedRequest(body, { secret: "shh", at: own.clock.date() });
    return watch(own.receiver.receive(request, { answer: "after-handlers", timeoutMs: 20_000 }));
  };
  return { ...own, seen, ask };
}

describe("the time of a delivery whose answer waits for the handlers", () => {
  test("leaves half of itself to what waits behind a handler that hangs", async () => {
    const { ask, pass, seen } = hanging("bad");
    const answer = ask(emails("a", "bad", "b", "c"));
    await pass(9_999);
    expect(seen).toEqual(["a", "bad"]);
    await pass(1);
    expect([seen, answer.value]).toMatchObject([["a", "bad", "b", "c"], { status: 503 }]);
  });

  test("is halved again for each handler that hangs: behind ten of them the last event runs", async () => {
    const names = Array.from({ length: 10 }, (_, place) => `bad-${place}`);
    const { ask, pass, seen } = hanging(...names);
    ask(emails(...names, "last"));
    await pass(20_000);
    expect(seen).toEqual([...names, "last"]);
  });

  test("is left to what waits behind a handler that ignores its signal, also when the delivery comes again", async () => {
    const { receiver, seen, ask, pass } = hanging();
    const deaf = Promise.withResolvers<void>();
    receiver.on("email.updated", async (event) => idOf(event) === "bad" && deaf.promise, {
      consumer: "deaf",
      timeoutMs: 0,
    });
    const answer = ask(emails("bad", "b"));
    await pass(14_999);
    expect(seen).toEqual(["bad"]);
    await pass(1);
    expect([seen, answer.value]).toMatchObject([["bad", "b"], { status: 503 }]);
    const again = ask(emails("bad", "b"));
    await pass(0);
    expect([seen, again.value]).toMatchObject([["bad", "b", "bad", "b"], { status: 503 }]);
    deaf.resolve();
    await pass(0);
    const last = ask(emails("bad", "b"));
    await pass(0);
    expect(last.value).toMatchObject({ status: 200 });
  });

  test("is all for the last call, whatever nobody handles behind it", async () => {
    const { ask, pass, seen } = hanging("bad");
    const rest = Array.from({ length: 2_500 }, (_, place) => change(`c-${place}`, "created"));
    const answer = ask(bodyOf({ payloads: [change("first"), change("bad"), ...rest] }));
    await pass(10_000);
    expect(answer.ended).toBe(false);
    expect(seen).toEqual(["first", "bad"]);
  });

  test("leaves half of itself to another consumer of the same event", async () => {
    const { ask, pass, receiver } = hanging("bad");
    const other = recordingHandler();
    receiver.on("email", other.handler, { consumer: "other" });
    ask(emails("bad"));
    await pass(10_000);
    expect(other.seen).toEqual(["bad"]);
  });

  test("where nobody limits it, a handler without a limit has none", async () => {
    const { receiver, pass, seen } = hanging("bad");
    const outcome = watch(receiver.handle(toStored("d-1", makeDelivery(emails("bad", "b")))));
    await pass(86_400_000);
    expect([outcome.ended, seen]).toEqual([false, ["bad"]]);
  });
});
