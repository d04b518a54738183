import { forwardInbox, createReceiver, type StoredDelivery } from "hookline";
import { describe, expect, test } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { bodyOf, signedRequest } from "../support/make-delivery.ts";
import { rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const SECRET = "a signing secret";
const own = { subscription: 1001, source: undefined, reason: "gone", since: 0, lastHit: 0 };

/** An inbox of another's making, which answers a look-up so. */
function answering(find: () => unknown) {
  return stubInbox((inbox) => ({ tombstones: { ...inbox.tombstones, isEmpty: false, find: find as () => undefined } }));
}

async function queued(source?: string): Promise<readonly StoredDelivery[]> {
  const queue: StoredDelivery[] = [];
  const clock = fakeClock();
  const inbox = forwardInbox(async (deliveries) => void queue.push(...deliveries));
  const front = createReceiver({ secret: SECRET, inbox, clock, log: false });
  await front.receive(signedRequest(bodyOf(), { secret: SECRET, at: clock.date(), source }));
  await front.close();
  return queue;
}

describe("what is no tombstone of the subscription never deletes it: the delivery is stored, and the fix is logged:", () => {
  test.each<[string, () => unknown, code?: string]>([
    ["a promise of nothing", async () => undefined],
    ["a promise of the tombstone", async () => own],
    ["a promise that rejects", () => Promise.reject(new Error("the database is away"))],
    ["null", () => null],
    ["false", () => false],
    ["true", () => true],
    ["0", () => 0],
    ["a text", () => "gone"],
    ["an empty object", () => ({})],
    ["a list of tombstones", () => [own]],
    ["a tombstone of another subscription", () => ({ ...own, subscription: 7 })],
    ["its subscription as text", () => ({ ...own, subscription: "1001" })],
    ["a tombstone of another source", () => ({ ...own, source: "crm" })],
    ["a tombstone whose source is null", () => ({ ...own, source: null })],
    ["a tombstone without a reason", () => ({ ...own, reason: undefined })],
    [
      "an error",
      () => {
        throw Object.assign(new Error("the database is away"), { status: 422 });
      },
      "tombstone-failed",
    ],
  ])("%s", async (_, find, code = "tombstone-answer") => {
    const { receiver, offer, log } = rig({ inbox: answering(find) });
    expect(await offer()).toMatchObject({ status: 200 });
    expect(await receiver.accept(await queued())).toMatchObject([{ status: "fulfilled" }]);
    expect(receiver.stats()).toMatchObject({ stored: 2, answered: { 200: 1 }, refused: {} });
    expect(log.of(code)[0]).toMatchObject({
      level: "error",
      facts: { subscription: 1001, fix: expect.stringContaining("not `async`") },
    });
  });
});

test.each([
  ["of every source", undefined],
  ["of the delivery's source", "shop"],
])("a tombstone %s decides", async (_, source) => {
  const { receiver, offer, log } = rig({ inbox: answering(() => ({ ...own, source })) });
  expect(await offer(bodyOf(), { source: "shop" })).toMatchObject({ status: 422 });
  await receiver.accept(await queued("shop"));
  expect(receiver.stats()).toMatchObject({ stored: 0, refused: { unwanted: 1 } });
  expect(log.of("tombstone-answer")).toEqual([]);
});

test("an inbox that cannot say whether it has tombstones is asked for the one: the delivery is stored, or answered 422", async () => {
  const isEmpty = {
    get isEmpty(): boolean {
      throw new Error("the database is away");
    },
  };
  const inbox = stubInbox(({ tombstones }) => ({
    tombstones: Object.assign(Object.create(isEmpty), without(tombstones)),
  }));
  const { receiver, offer } = rig({ inbox });
  expect(await offer()).toMatchObject({ status: 200 });
  expect(await receiver.accept(await queued())).toMatchObject([{ status: "fulfilled" }]);
  await receiver.unsubscribe(1001, "gone");
  expect(await offer()).toMatchObject({ status: 422 });
});

/** All but what says that there are none. */
function without<T extends object>({ ...tombstones }: T): Omit<T, "isEmpty"> {
  return Object.fromEntries(Object.entries(tombstones).filter(([name]) => name !== "isEmpty")) as Omit<T, "isEmpty">;
}
