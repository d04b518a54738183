import type { SeenStore } from "hookline";
import { expect, test } from "vitest";
import { turns, watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
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

/** By default. */
const KEEP_MS = 691_200_000;

/** One of several processes, whose handlers wait. */
function instance(seen: SeenStore, ownClock = fakeClock()) {
  const { receiver, pass, clock } = rig({ secret: "shh", gaps: false, clock: ownClock });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  const ask = async (body: string): Promise<number> => {
    const request = signedRequest(body, { secret: "shh", at: new Date("2026-05-06T07:08:09Z") });
    return (await receiver.receive(request, { answer: "after-handlers", timeoutMs: 20_000, seen })).status;
  };
  return { ask, calls, pass, clock };
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

test.each<[string, (how: string, keepMs: number) => boolean]>([
  ["what was done is not forgotten", (how, keepMs) => how === "done" && keepMs === 1],
  ["it is not noted that the delivery is complete", (how, keepMs) => how === "done" && keepMs === KEEP_MS],
])("where %s, an equal delivery is handled all the same", async (_, isRefused) => {
  const plain = remoteStore();
  let isDown = false;
  const { ask, calls } = instance({
    claim: plain.claim,
    async settle(key, how, keepMs) {
      if (isDown && isRefused(how, keepMs) && (keepMs === 1 || key.endsWith(":round:0"))) throw new Error("down");
      await plain.settle(key, how, keepMs);
    },
  });
  const { ended } = ending(ask, calls);
  isDown = true;
  const first = await ended();
  isDown = false;
  if (first === 503) expect([await ended(), calls.length], "its redelivery").toEqual([200, 2]);
  expect([await ended(), calls.length], "another edit").toEqual([200, 4]);
  expect([await ended(), calls.length], "one more").toEqual([200, 6]);
});

test("a delivery of many events is complete with one call of the store, however slow that is", async () => {
  const plain = remoteStore();
  let passed = 0;
  const clocked =
    <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      passed += 1;
      await own.pass(10);
      return call(...given);
    };
  const own = instance({ claim: clocked(plain.claim), settle: clocked(plain.settle) });
  const names = Array.from({ length: 600 }, (_, place) => `m-${place}`);
  const { ended } = ending(() => own.ask(emails(...names)), own.calls);
  expect([await ended(), own.calls.length]).toEqual([200, 600]);
  // Twice for each event, a second of forgetting, and a few for the delivery.
  expect(passed).toBeLessThan(2 * 600 + 110);
});

test("two equal deliveries at once: the second is refused while the first one runs, and handled after it", async () => {
  const seen = remoteStore();
  const [one, other] = [instance(seen), instance(seen)];
  const first = watch(one.ask(emails("a", "b")));
  await turns();
  expect([await other.ask(emails("a", "b")), other.calls.length]).toEqual([503, 0]);
  await ending(() => Promise.resolve(0), one.calls).settle(first);
  expect(first.value).toBe(200);
  const { ended } = ending(() => other.ask(emails("a", "b")), other.calls);
  expect([await ended(), other.calls.length]).toEqual([200, 2]);
});

test("a delivery whose process stood still for longer than its lease is refused: an equal one may have begun", async () => {
  const plain = remoteStore();
  const failed: string[] = [];
  const settle: SeenStore["settle"] = (key, how, keepMs) => {
    if (how === "failed") failed.push(key);
    return plain.settle(key, how, keepMs);
  };
  const clock = fakeClock();
  let stoodMs = 0;
  const now = (): number => clock.now() + stoodMs;
  const own = instance({ ...plain, settle }, { ...clock, now, monotonic: now });
  const answer = watch(own.ask(emails("a")));
  await turns();
  stoodMs = 60_000;
  own.calls[0]?.end();
  await turns();
  expect([answer.value, failed], "and gives back nothing").toEqual([503, []]);
});

test("a wall clock that is set ahead while a delivery is handled refuses it once, and not for as long as its lease", async () => {
  const own = instance(remoteStore());
  const answer = watch(own.ask(emails("a")));
  await turns();
  own.clock.jump(3_600_000);
  own.calls[0]?.end();
  await turns();
  expect(answer.value).toBe(503);
  expect([await own.ask(emails("a")), own.calls.length], "its redelivery").toEqual([200, 1]);
});

/** Whose handlers end as soon as they are called. */
function ending(ask: (body: string) => Promise<number>, calls: readonly { end(): void }[]) {
  async function settle(answer: { readonly ended: boolean }): Promise<void> {
    for (let from = 0; !answer.ended;) {
      await turns();
      for (const call of calls.slice(from)) call.end();
      from = calls.length;
    }
  }
  return {
    settle,
    async ended(): Promise<unknown> {
      const answer = watch(ask(emails("a", "b")));
      await settle(answer);
      return answer.value;
    },
  };
}
