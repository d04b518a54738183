import type { Inbox, Receiver } from "hookline";
import { expect, test } from "vitest";
import { stubInbox } from "../support/stub-inboxes.ts";
import { emails, heldHandler, idOf, rig } from "../support/rig.ts";

interface Odd {
  inbox: Inbox<"memory">;
  isOdd: boolean;
}

/** An inbox of another's making, whose list of pauses is what `given` makes of it while it is odd. */
function oddInbox(given: (own: unknown) => unknown): Odd {
  const odd: Odd = {
    isOdd: false,
    inbox: stubInbox(({ pauses }) => ({
      pauses: pauses && { ...pauses, current: () => (odd.isOdd ? given(pauses.current()) : pauses.current()) as never },
    })),
  };
  return odd;
}

const pauseOf = (accountId: unknown, until: unknown): unknown => ({ accountId, reason: "x", since: 0, until });

test.each<[string, (own: unknown) => unknown]>([
  [
    "an error",
    () => {
      throw new Error("away");
    },
  ],
  [
    "a thrown promise",
    () => {
      throw Promise.reject(new Error("away"));
    },
  ],
  ["a promise", async (own) => own],
  ["a promise that rejects", () => Promise.reject(new Error("away"))],
  ["nothing", () => undefined],
])("while an inbox gives %s as its pauses, what it said last holds, and no slot is lost", async (_, given) => {
  const odd = oddInbox(given);
  const { receiver, send, pass, log } = rig({ inbox: odd.inbox, concurrency: 2, gaps: false });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  await receiver.flow.pause({ accountId: 9 }, { reason: "x" });
  await receiver.start();
  await send(emails("a", "b", "c", "d"));
  await pass();
  odd.isOdd = true;
  const { problems, waiting } = await receiver.health();
  expect(problems.map(({ code }) => code)).toEqual(["inbox-stats-failed"]);
  expect(waiting).toBe(2);
  for (let index = 0; index < 4; index += 1) {
    calls[index]?.end();
    await pass();
  }
  odd.isOdd = false;
  expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b", "c", "d"]);
  expect(log.of("pauses-failed")).not.toEqual([]);
  expect((await receiver.health()).problems.map(({ code }) => code)).toEqual(["paused"]);
});

test("entries of the list that are no pauses hold nothing, and hide none that is one", async () => {
  const odd = oddInbox(() => [null, 7, pauseOf(2002, Number.NaN), pauseOf("2002", undefined), pauseOf(9, undefined)]);
  odd.isOdd = true;
  const receiver = await working(odd.inbox);
  expect((await receiver.health()).problems.map(({ code }) => code)).toEqual(["paused"]);
  expect(await receiver.flow.paused()).toMatchObject([{ accountId: 9 }]);
});

test("an inbox whose `pauses` has no methods works, without pauses", async () => {
  const receiver = await working(stubInbox(() => ({ pauses: {} as never })));
  expect((await receiver.health()).problems.map(({ code }) => code)).toEqual(["inbox-stats-failed"]);
});

/** A receiver on it, whose handler gets an event. */
async function working(inbox: Inbox<"memory">): Promise<Receiver> {
  const { receiver, send, pass } = rig({ inbox, gaps: false });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a"));
  await pass();
  expect(calls).toHaveLength(1);
  return receiver;
}
