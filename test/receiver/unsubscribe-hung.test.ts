import { describe, expect, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { watch } from "../support/event-loop.ts";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { rig, type Rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const never = () => new Promise<never>(() => {});

describe("unsubscribe() writes the tombstone, although the inbox never answers", () => {
  test.each<[string, (own: WorkingInbox<"memory">) => Partial<WorkingInbox<"memory">>]>([
    ["what the subscription was for", ({ gaps }) => (gaps ? { gaps: { ...gaps, resourcesOf: never } } : {})],
    [
      "that this was recorded",
      ({ subscriptions }) => (subscriptions ? { subscriptions: { ...subscriptions, record: never } } : {}),
    ],
  ])("%s", async (_, change) => {
    const { receiver, send, offer, pass } = rig({ inbox: stubInbox(change) });
    receiver.on("email", () => {});
    await receiver.start();
    await send();
    const unsubscribed = watch(receiver.unsubscribe(1001, "gone"));
    await pass(2_000);
    await pass(2_000);
    expect(unsubscribed).toMatchObject({ ended: true, value: undefined });
    expect(await offer()).toMatchObject({ status: 422 });
  });
});

async function passSeconds({ pass }: Pick<Rig, "pass">, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) await pass(1_000);
}

const HUNG = { error: { code: "inbox-hung" } };
const STILL = toReported("no-progress", "Subscription 1001 was not unsubscribed for 17 s: the inbox gives no answer.");

describe("a tombstone that the inbox never answers for", () => {
  const hanging = () => stubInbox(({ tombstones }) => ({ tombstones: { ...tombstones, put: never } }));

  test("is a problem after 15 s, beside others that are written, and ends unsubscribe() after 40", async () => {
    const inbox = stubInbox(({ tombstones }) => ({
      tombstones: { ...tombstones, put: (one) => (one.subscription === 1001 ? never() : tombstones.put(one)) },
    }));
    const all = rig({ inbox });
    await all.receiver.start();
    const unsubscribed = watch(all.receiver.unsubscribe(1001, "gone"));
    await passSeconds(all, 14);
    await all.receiver.unsubscribe(7, "gone too");
    expect(await codesOf(all.receiver)).toEqual([]);
    await passSeconds(all, 3);
    expect(await problemsOf(all.receiver, "no-progress")).toEqual([STILL]);
    expect(await all.receiver.health()).toMatchObject({ live: true, ready: true });
    await passSeconds(all, 25);
    expect(unsubscribed).toMatchObject({ ended: true, ...HUNG });
    expect(await codesOf(all.receiver)).toEqual([]);
  });

  test("ends ctx.unsubscribe too: the handler fails, and is tried again", async () => {
    const all = rig({ inbox: hanging() });
    const failures: unknown[] = [];
    all.receiver.on("email", async (_, ctx) => {
      await ctx.unsubscribe("gone").catch((error: unknown) => failures.push(error));
      throw new Error("not unsubscribed");
    });
    await all.receiver.start();
    await all.send();
    await passSeconds(all, 16);
    expect(await problemsOf(all.receiver, "no-progress")).toHaveLength(1);
    await passSeconds(all, 25);
    expect(failures).toMatchObject([HUNG.error]);
  });
});

test.each<[string, (own: WorkingInbox<"memory">) => Partial<WorkingInbox<"memory">>]>([
  ["that lifts none", ({ tombstones }) => ({ tombstones: { ...tombstones, lift: never } })],
  ["that lists none", ({ tombstones }) => ({ tombstones: { ...tombstones, list: never } })],
])("an inbox %s ends resubscribe() after 40 s", async (_, change) => {
  const all = rig({ inbox: stubInbox(change) });
  await all.receiver.start();
  const resubscribed = watch(all.receiver.resubscribe(1001, { source: "app" }));
  await passSeconds(all, 41);
  expect(resubscribed).toMatchObject({ ended: true, ...HUNG });
});

test("an inbox that never says whether one more may be unsubscribed ends ctx.unsubscribe after 40 s", async () => {
  const all = rig({ inbox: stubInbox(() => ({ allowUnsubscribe: never })) });
  const failures: unknown[] = [];
  all.receiver.on("email", (_, ctx) => ctx.unsubscribe("gone").catch((error: unknown) => void failures.push(error)));
  await all.receiver.start();
  await all.send();
  await passSeconds(all, 41);
  expect(failures).toMatchObject([HUNG.error]);
});
