import { memoryInbox, type EventOf, type Inbox, type ReceiverOptions } from "hookline";
import { watchSubscriptions, type Desired } from "hookline/subscriptions";
import { expect, onTestFinished, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { EVENTS, MAIL, startWorld } from "./support.ts";

const EVERY_MS = 600_000;
const START = new Date("2026-01-02T03:04:05Z");

/** A world with a receiver that works, a clock that a test moves, and the calls of its `.changes` handlers. */
async function startWatched(options: Partial<ReceiverOptions> = {}) {
  const clock = fakeClock(START);
  const inbox: Inbox = memoryInbox();
  const log = logRecorder();
  const world = await startWorld({ clock, inbox, log: log.logger, ...options });
  const { receiver, clientOf } = world;
  const calls: (EventOf<"email.changes"> | EventOf<"calendarEvent.changes">)[] = [];
  receiver.on(["email.changes", "calendarEvent.changes"], (event) => void calls.push(event));
  await receiver.start();
  let polls = 0;
  return {
    ...world,
    clock,
    log,
    inbox: inbox as WorkingInbox,
    calls,
    watch(desired: readonly Desired[], recreate = true) {
      const counted = (): readonly Desired[] => ((polls += 1), desired);
      const watch = watchSubscriptions(receiver, { client: clientOf, desired: counted, recreate, everyMs: EVERY_MS });
      onTestFinished(watch.stop);
    },
    /** Lets polls come until the condition holds. */
    async pollUntil(condition: () => unknown) {
      await eventually(async () => {
        await clock.advance(EVERY_MS);
        await condition();
      });
    },
    polls: () => polls,
  };
}

test("a subscription that was gone and is created again ends in one call: nothing told what changed meanwhile", async () => {
  const { emulator, account, desired, watch, pollUntil, clientOf, calls, url, polls } = await startWatched();
  const id = await emulator.subscribe(account, MAIL, url);
  await emulator.subscribe(account, EVENTS, url);
  watch([desired(), desired(EVENTS)]);
  await pollUntil(() => expect(emulator.subscriptions).toHaveLength(2));
  await (await clientOf(account.accountId)).subscriptions.delete(id);
  await pollUntil(() => expect(calls).toMatchObject([{ accountId: 2001, resource: MAIL, cause: "gap" }]));
  const before = polls();
  await pollUntil(() => expect(polls()).toBeGreaterThan(before + 2));
  expect(calls).toHaveLength(1);
});

test("so does one that somebody else creates again", async () => {
  const { emulator, account, desired, watch, pollUntil, clientOf, calls, url, polls, receiver, clock, log } =
    await startWatched();
  const id = await emulator.subscribe(account, MAIL, url);
  watch([desired()], false);
  await pollUntil(() => expect(polls()).toBeGreaterThan(1));
  await (await clientOf(account.accountId)).subscriptions.delete(id);
  await pollUntil(async () =>
    expect((await receiver.health()).problems.map(({ code }) => code)).toEqual(["subscription-gone"]),
  );
  expect(calls).toEqual([]);
  const found = clock.date();
  await emulator.subscribe(account, MAIL, url);
  await pollUntil(() => expect(calls).toMatchObject([{ resource: MAIL, cause: "gap" }]));
  // Since the last poll that found it.
  const [signalled] = log.of("gap-signalled");
  expect(Number(signalled?.facts["from"])).toBeLessThanOrEqual(found.getTime() - EVERY_MS);
});

test("an error that only a poll tells is a gap until a poll finds that it has ended", async () => {
  const { emulator, account, desired, watch, pollUntil, calls, url, inbox } = await startWatched();
  await emulator.subscribe(account, MAIL, url);
  watch([desired()]);
  await account.setPaid(false);
  await pollUntil(async () =>
    expect((await inbox.gaps?.find({ limit: 10 }))?.gaps).toMatchObject([{ cause: "errored", until: undefined }]),
  );
  expect(calls).toEqual([]);
  await account.setPaid(true);
  await pollUntil(() => expect(calls).toMatchObject([{ resource: MAIL, cause: "gap" }]));
});

test("a subscription that no delivery came for yet has its gap after an outage, too", async () => {
  const { emulator, account, desired, watch, pollUntil, url, inbox, receiver, clock } = await startWatched();
  await emulator.subscribe(account, MAIL, url);
  watch([desired()]);
  await pollUntil(async () => expect(await inbox.gaps?.resourcesOf(1001, undefined)).toHaveLength(1));
  await receiver.close();
  await clock.advance(3_600_000);
  await inbox.gaps?.mark({ at: clock.now(), afterMs: EVERY_MS });
  expect((await inbox.gaps?.find({ limit: 10 }))?.gaps).toMatchObject([{ resource: MAIL, cause: "down" }]);
});

test("an error of a subscription that was deleted then is no gap any more", async () => {
  const { emulator, account, desired, watch, pollUntil, clientOf, url, inbox } = await startWatched();
  const id = await emulator.subscribe(account, MAIL, url);
  watch([desired()], false);
  await account.setPaid(false);
  const gaps = async () => (await inbox.gaps?.find({ limit: 10 }))?.gaps;
  await pollUntil(async () => expect(await gaps()).toHaveLength(1));
  await (await clientOf(account.accountId)).subscriptions.delete(id);
  await pollUntil(async () => expect(await gaps()).toEqual([]));
});

test("what `receiver.unsubscribe` left, and a 422 deleted before any poll, is not created again", async () => {
  const { emulator, account, receiver, desired, watch, pollUntil, existing, url, polls } = await startWatched();
  await emulator.subscribe(account, MAIL, url);
  await account.receiveMail();
  await emulator.settled();
  await receiver.idle();
  await receiver.unsubscribe(1001, "the customer left");
  await account.receiveMail();
  await emulator.settled();
  expect(existing()).toEqual([]);
  watch([desired(), desired(EVENTS)]);
  await pollUntil(() => expect(polls()).toBeGreaterThan(2));
  expect(existing()).toEqual([`${EVENTS} ${url}`]);
});
