import type { SeenStore } from "hookline";
import { expect, test } from "vitest";
import { turns, watch } from "../support/event-loop.ts";
import { signedRequest } from "../support/make-delivery.ts";
import { emails, heldHandler, idOf, rig } from "../support/rig.ts";

/** In another process: each call takes a turn of the event loop. What is done for a moment is forgotten at once. */
function remoteStore(): SeenStore {
  const states = new Map<string, "busy" | "done">();
  return {
    async claim(key) {
      await turns(1);
      const state = states.get(key);
      if (state === undefined) states.set(key, "busy");
      return state ?? "mine";
    },
    async settle(key, how, keepMs) {
      await turns(1);
      if (how === "done" && keepMs > 1) states.set(key, "done");
      else states.delete(key);
    },
  };
}

/** One of several processes, whose handlers wait. */
function instance(seen: SeenStore) {
  const { receiver, pass } = rig({ secret: "shh", gaps: false });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  const ask = async (body: string): Promise<number> => {
    const request = signedRequest(body, { secret: "shh", at: new Date("2026-05-06T07:08:09Z") });
    return (await receiver.receive(request, { answer: "after-handlers", timeoutMs: 20_000, seen })).status;
  };
  return { ask, calls, pass };
}

test("of two equal deliveries that come at once, when all was done for an earlier one, only one takes it for itself", async () => {
  const seen = remoteStore();
  const [one, other] = [instance(seen), instance(seen)];
  const late = watch(one.ask(emails("a", "b")));
  await turns();
  one.calls[0]?.end();
  await turns();
  await one.pass(20_000);
  one.calls[1]?.end(); // after its time, so that it was refused
  await turns();
  expect([late.value, one.calls.length]).toEqual([503, 2]);

  // Its redelivery, and an edit that was made meanwhile.
  const answers = await Promise.all([one.ask(emails("a", "b")), other.ask(emails("a", "b"))]);
  expect(answers.toSorted()).toEqual([200, 503]);
  const again = watch(other.ask(emails("a", "b")));
  await turns();
  other.calls[0]?.end();
  await turns();
  other.calls[1]?.end();
  await turns();
  expect([again.value, other.calls.map(({ event }) => idOf(event))]).toEqual([200, ["a", "b"]]);
});

test("what the store does not forget is refused: an equal delivery would leave it out", async () => {
  const plain = remoteStore();
  let isDown = true;
  const { ask, calls } = instance({
    claim: plain.claim,
    async settle(...call) {
      const [, how, keepMs] = call;
      if (isDown && how === "done" && keepMs === 1) throw new Error("down");
      await plain.settle(...call);
    },
  });
  async function ended(): Promise<unknown> {
    const answer = watch(ask(emails("a", "b")));
    for (const from = calls.length; answer.value === undefined;) {
      await turns();
      for (const call of calls.slice(from)) call.end();
    }
    return answer.value;
  }
  expect(await ended()).toBe(503);
  isDown = false;
  expect([await ended(), calls.length]).toEqual([200, 2]);
  expect([await ended(), calls.length], "another edit").toEqual([200, 4]);
});
