import { watchSubscriptions, type WatchOptions } from "hookline/subscriptions";
import { expect, onTestFinished, test } from "vitest";
import { internalsOf } from "../../src/receiver/internals.ts";
import { turns } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { codesOf, problemsOf } from "../support/health.ts";
import { MAIL, startWorld } from "./support.ts";

const MINUTE_MS = 60_000;
const never = (): Promise<never> => new Promise(() => {});

async function startWatched() {
  const clock = fakeClock();
  const world = await startWorld({ clock });
  return {
    ...world,
    clock,
    watch(options: WatchOptions) {
      const { stop } = watchSubscriptions(world.receiver, options);
      onTestFinished(stop);
    },
  };
}

test("a `desired` that never answers is a problem after a minute, and the next poll asks again", async () => {
  const { receiver, clock, watch, clientOf, desired } = await startWatched();
  let hangs = true;
  watch({ client: clientOf, desired: () => (hangs ? never() : [desired()]) });
  await turns();
  await clock.advance(MINUTE_MS - 1);
  expect(await codesOf(receiver)).toEqual([]);
  await clock.advance(1);
  await eventually(async () =>
    expect(await problemsOf(receiver, "subscription-watch-failed")).toMatchObject([
      { message: expect.stringContaining("`desired` of `watchSubscriptions` did not answer within 60 s") },
    ]),
  );
  hangs = false;
  await clock.advance(10 * MINUTE_MS);
  await eventually(async () => expect(await codesOf(receiver)).toEqual(["subscription-gone"]));
});

test("a promise that `desired` throws, and that rejects, is a problem and does not end the process", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const { receiver, watch, clientOf } = await startWatched();
  const thrown: unknown = Promise.reject(new Error("no connection"));
  watch({
    client: clientOf,
    desired: () => {
      throw thrown;
    },
  });
  await eventually(async () => expect(await codesOf(receiver)).toEqual(["subscription-watch-failed"]));
  await turns();
  expect(unhandled).toEqual([]);
});

test("clients that never come keep no other account from being checked, however many they are", async () => {
  const { receiver, account, clock, watch, clientOf, desired } = await startWatched();
  const others = Array.from({ length: 20 }, (_, nth) => desired(MAIL, { accountId: 10_000 + nth }));
  watch({
    client: (accountId) => (accountId === account.accountId ? clientOf(accountId) : never()),
    desired: () => [...others, desired()],
  });
  await turns();
  for (let minute = 0; minute < 3; minute += 1) {
    await clock.advance(MINUTE_MS);
    await turns(20);
  }
  await eventually(async () => expect(await codesOf(receiver)).toContain("subscription-gone"));
  expect(await problemsOf(receiver, "subscription-watch-failed")).toHaveLength(11);
});

test("a tombstone of another account's subscription deletes none with the same number at the service", async () => {
  const { emulator, receiver, account, clientOf, desired, existing, url } = await startWorld();
  const id = await emulator.subscribe(account, MAIL, url);
  await receiver.unsubscribe(id, "left", { source: "crm" });
  // As after an unsubscribe of what was known.
  const { subscriptions } = internalsOf(receiver);
  const origin = { source: "crm", sentAt: emulator.clock.now() };
  await subscriptions.learn({ subscription: id, accountId: 9009, resource: MAIL, error: undefined }, origin);
  let polls = 0;
  const asked = () => ((polls += 1), [desired()]);
  const { stop } = watchSubscriptions(receiver, { client: clientOf, desired: asked });
  onTestFinished(stop);
  await eventually(async () => {
    await emulator.advance(10 * MINUTE_MS);
    expect(polls).toBeGreaterThan(1);
  });
  expect(existing()).toEqual([`${MAIL} ${url}`]);
  expect(await codesOf(receiver)).toEqual([]);
});
