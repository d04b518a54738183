import type { Clock, ReceiverOptions } from "hookline";
import { planSubscriptions, watchSubscriptions, type Desired, type WatchOptions } from "hookline/subscriptions";
import { sqliteInbox } from "hookline/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { StorageError } from "../../src/errors.ts";
import { turns } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { fastTmpdir } from "../support/fast-tmpdir.ts";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { stubInbox } from "../support/stub-inboxes.ts";
import { deadUrl, EVENTS, MAIL, startReceiver, startWorld, type World } from "./support.ts";

const EVERY_MS = 600_000;

interface Watched extends World {
  readonly polls: Polls;
  readonly log: ReturnType<typeof logRecorder>;
  /** Watches, and waits for the end of the first poll. */
  watch(desired: readonly Desired[], options?: Partial<WatchOptions>): Promise<{ stop(): void }>;
  /** Lets the time until the next poll pass, and waits for its end. */
  nextPoll(): Promise<void>;
}

/** A world whose receiver has a clock that a test moves. */
async function startWatched(options: Partial<ReceiverOptions> = {}): Promise<Watched> {
  const polls = countPolls();
  const log = logRecorder();
  const world = await startWorld({ clock: polls.clock, log: log.logger, ...options });
  return {
    ...world,
    polls,
    log,
    async watch(desired, more = {}) {
      const watch = watchSubscriptions(world.receiver, { client: world.clientOf, desired: () => desired, ...more });
      onTestFinished(watch.stop);
      await polls.ended(1);
      return watch;
    },
    nextPoll: polls.next,
  };
}

interface Polls {
  /** Of a receiver. It begins when the emulator's does. */
  readonly clock: Clock;
  readonly count: number;
  ended(count: number): Promise<void>;
  /** Lets the time until the next poll pass. */
  pass(): Promise<void>;
  next(): Promise<void>;
}

/** A clock that a test moves, and that counts polls: each sets a timer for the next one when it ends. */
function countPolls(): Polls {
  const fake = fakeClock(new Date("2026-01-02T03:04:05Z"));
  let count = 0;
  const ended = (expected: number): Promise<void> => eventually(() => expect(count).toBe(expected));
  return {
    clock: {
      now: fake.now,
      setTimer(run, ms) {
        if (ms === EVERY_MS) count += 1;
        return fake.setTimer(run, ms);
      },
    },
    get count() {
      return count;
    },
    ended,
    async pass() {
      await fake.advance(EVERY_MS);
      await turns(20);
    },
    async next() {
      const expected = count + 1;
      await fake.advance(EVERY_MS);
      await ended(expected);
    },
  };
}

const goneText = ({ resource, notificationUrl, accountId }: Desired, why = ""): string =>
  `${resource} at ${notificationUrl} of account ${accountId}.${why}`;

describe("what is desired and does not exist", () => {
  test("is a problem from the first poll on, until a poll finds it", async () => {
    const { emulator, account, url, receiver, desired, watch, nextPoll } = await startWatched();
    await emulator.subscribe(account, EVENTS, url);
    await watch([desired(), desired(EVENTS)]);
    expect(await receiver.health()).toMatchObject({
      live: true,
      ready: true,
      problems: [toReported("subscription-gone", goneText(desired()))],
    });
    await emulator.subscribe(account, MAIL, url);
    expect(await codesOf(receiver)).toEqual(["subscription-gone"]);
    await nextPoll();
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("is noticed after the service has removed it, without any event", async () => {
    const { emulator, account, url, receiver, desired, watch, nextPoll, clientOf } = await startWatched();
    const id = await emulator.subscribe(account, MAIL, url);
    await watch([desired()]);
    expect(await codesOf(receiver)).toEqual([]);
    await (await clientOf(account.accountId)).subscriptions.delete(id);
    await nextPoll();
    expect(await codesOf(receiver)).toEqual(["subscription-gone"]);
  });

  test("is created again where that is asked for, with a warning in the log", async () => {
    const { receiver, desired, watch, existing, url, log } = await startWatched();
    await watch([desired(), desired(EVENTS)], { recreate: true });
    expect(existing()).toEqual([`${MAIL} ${url}`, `${EVENTS} ${url}`]);
    expect(await codesOf(receiver)).toEqual([]);
    expect(log.of("subscription-recreated")).toMatchObject([{ facts: { created: [1001, 1002] } }]);
  });

  test("says why it could not be created, and the rest is", async () => {
    const { receiver, desired, watch, existing } = await startWatched();
    const dead = desired(MAIL, { notificationUrl: await deadUrl() });
    await watch([dead, desired(EVENTS)], { recreate: true });
    expect(existing()).toHaveLength(1);
    const problems = await problemsOf(receiver, "subscription-gone");
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toContain(`${goneText(dead)} It could not be created: The service refused`);
    expect(problems[0]?.message).toContain("cannot be reached either: ECONNREFUSED");
  });

  test("is asked for before each poll", async () => {
    const { receiver, desired, watch, nextPoll } = await startWatched();
    let wanted = [desired()];
    await watch([], { desired: async () => wanted });
    expect(await codesOf(receiver)).toEqual(["subscription-gone"]);
    wanted = [];
    await nextPoll();
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("is listed ten times, the others counted", async () => {
    const { receiver, desired, watch } = await startWatched();
    await watch(Array.from({ length: 13 }, (_, nth) => desired(`/booking/${nth}`)));
    const problems = await problemsOf(receiver, "subscription-gone");
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toEqual(toReported("subscription-gone", "So it is with 3 more."));
  });
});

describe("a subscription that the service says fails", () => {
  const errored = (error: string): unknown =>
    toReported("subscription-errored", `Subscription 1001 (${MAIL} of account 2001): ${error}`);

  test("is a problem with the service's words until it is active, although no notice came", async () => {
    const { emulator, account, receiver, desired, watch, nextPoll, url } = await startWatched();
    await emulator.subscribe(account, MAIL, url);
    emulator.fault(1001, "silence");
    await account.expireCredentials();
    await watch([desired()]);
    expect((await receiver.health()).problems).toEqual([
      errored("Active token is missing, since 2026-01-02T03:04:05.000Z"),
    ]);
    await account.restoreCredentials();
    await nextPoll();
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("for want of payment too", async () => {
    const { emulator, account, receiver, desired, watch, nextPoll, url } = await startWatched();
    await emulator.subscribe(account, MAIL, url);
    await account.setPaid(false);
    await account.receiveMail();
    expect(emulator.journal).toEqual([]);
    await watch([desired()]);
    expect((await receiver.health()).problems).toEqual([errored("disabled by billing")]);
    await account.setPaid(true);
    await nextPoll();
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("is reported once where a notice told it as well; and an `active` that never came is no matter", async () => {
    const { emulator, account, receiver, desired, watch, nextPoll, url } = await startWatched();
    receiver.on("lifecycle", () => {});
    await receiver.start();
    await emulator.subscribe(account, MAIL, url);
    await account.expireCredentials();
    await emulator.settled();
    await watch([desired()]);
    expect((await receiver.health()).problems).toEqual([errored("Active token is missing")]);
    emulator.fault(1001, "silence");
    await account.restoreCredentials();
    await nextPoll();
    // What came meanwhile has no handler that fetches it.
    expect(await codesOf(receiver)).toEqual(["gap-unhandled"]);
  });

  test("and then is deleted is gone, not errored", async () => {
    const { emulator, account, receiver, desired, watch, nextPoll, url, clientOf } = await startWatched();
    const id = await emulator.subscribe(account, MAIL, url);
    await account.setPaid(false);
    await watch([desired()]);
    await (await clientOf(account.accountId)).subscriptions.delete(id);
    await nextPoll();
    expect(await codesOf(receiver)).toEqual(["subscription-gone"]);
  });

  test("is none of this watch where another URL is desired", async () => {
    const { emulator, account, receiver, desired, watch, url } = await startWatched();
    await emulator.subscribe(account, MAIL, url);
    await emulator.subscribe(account, MAIL, `${url}?staging`);
    await account.setPaid(false);
    await watch([desired(MAIL, { notificationUrl: `${url}?staging` })]);
    expect((await receiver.health()).problems).toEqual([
      toReported("subscription-errored", `Subscription 1002 (${MAIL} of account 2001): disabled by billing`),
    ]);
  });

  test("is known after a restart, before the service is asked", async () => {
    const path = file();
    const { emulator, account, desired, watch, url } = await startWatched({ inbox: sqliteInbox(path, ANY_DISK) });
    await emulator.subscribe(account, MAIL, url);
    await account.setPaid(false);
    await watch([desired()]);
    const next = await startReceiver({ inbox: sqliteInbox(path, ANY_DISK) });
    await eventually(async () =>
      expect((await next.receiver.health()).problems).toEqual([errored("disabled by billing")]),
    );
  });
});

describe("an unsubscribed subscription", () => {
  test("is deleted at the service by the next poll, and not created again", async () => {
    const { emulator, account, receiver, desired, watch, nextPoll, existing, url } = await startWatched();
    await emulator.subscribe(account, MAIL, url);
    await watch([desired(), desired(EVENTS)], { recreate: true });
    await receiver.unsubscribe(1001, "the customer left");
    expect(existing()).toHaveLength(2);
    for (let polls = 0; polls < 3; polls += 1) {
      await nextPoll();
      expect(existing()).toEqual([`${EVENTS} ${url}`]);
      expect(await codesOf(receiver)).toEqual([]);
    }
    await receiver.resubscribe(1001);
    await nextPoll();
    expect(existing()).toHaveLength(2);
  });

  test("by a handler, and deleted by the 422 before any poll, is not created again either; nor after a restart", async () => {
    const path = file();
    const { emulator, account, receiver, desired, existing, clientOf, url } = await startWatched({
      inbox: sqliteInbox(path, ANY_DISK),
    });
    receiver.on("email", async (_event, ctx) => ctx.unsubscribe("no such customer"));
    await receiver.start();
    await emulator.subscribe(account, MAIL, url);
    await account.receiveMail();
    await emulator.settled();
    await receiver.idle();
    await account.receiveMail();
    await emulator.settled();
    expect(existing()).toEqual([]);
    await receiver.close();

    const polls = countPolls();
    const { secret } = emulator;
    const next = await startReceiver({ inbox: sqliteInbox(path, ANY_DISK), secret, clock: polls.clock });
    const wanted = [MAIL, EVENTS].map((resource) => desired(resource, { notificationUrl: next.url }));
    const watch = watchSubscriptions(next.receiver, { client: clientOf, desired: () => wanted, recreate: true });
    onTestFinished(watch.stop);
    await polls.ended(1);
    expect(existing()).toEqual([`${EVENTS} ${next.url}`]);
  });

  test("is wanted again when another one like it was created since", async () => {
    const { emulator, account, receiver, desired, watch, nextPoll, existing, clientOf, url } = await startWatched();
    await emulator.subscribe(account, MAIL, url);
    await receiver.unsubscribe(1001, "by mistake");
    await watch([desired()], { recreate: true });
    expect(existing()).toEqual([]);
    await (await planSubscriptions([desired()], { client: clientOf })).apply();
    await nextPoll();
    await (await clientOf(account.accountId)).subscriptions.delete(1002);
    await nextPoll();
    expect(emulator.subscriptions.map(({ id }) => id)).toEqual([1003]);
    expect(await codesOf(receiver)).toEqual([]);
  });
});

describe("a poll that fails", () => {
  test("for an account is a problem with its cause, and keeps no other from being checked", async () => {
    const { receiver, desired, watch } = await startWatched();
    await watch([desired(MAIL, { accountId: 7 }), desired()]);
    const [gone, failed, ...others] = (await receiver.health()).problems;
    expect(gone).toEqual(toReported("subscription-gone", goneText(desired())));
    expect(failed).toMatchObject({
      code: "subscription-watch-failed",
      message: expect.stringContaining("Account 7: GET /v1/subscriptions: the service answered 401"),
    });
    expect(others).toEqual([]);
  });

  test("in the user's own function does not show its text, which may have addresses; the next poll tries again", async () => {
    const { receiver, desired, watch, nextPoll, log } = await startWatched();
    let fails = true;
    await watch([], {
      async desired() {
        if (fails) throw new Error("no connection to ada@example.com");
        return [desired()];
      },
    });
    expect((await receiver.health()).problems).toEqual([
      toReported("subscription-watch-failed", "All accounts: see the cause in the log."),
    ]);
    expect(log.of("subscription-watch-failed")).toHaveLength(1);
    fails = false;
    await nextPoll();
    expect(await codesOf(receiver)).toEqual(["subscription-gone"]);
  });

  test("creates nothing where it is not known what was unsubscribed", async () => {
    const list = async () => Promise.reject(new StorageError("server-unreachable", "The server cannot be reached."));
    const inbox = stubInbox((own) => ({ tombstones: { ...own.tombstones, list } }));
    const { receiver, desired, watch, existing } = await startWatched({ inbox });
    await watch([desired()], { recreate: true });
    expect(existing()).toEqual([]);
    expect((await receiver.health()).problems).toEqual([
      toReported("subscription-watch-failed", "All accounts: The server cannot be reached."),
    ]);
  });
});

describe("a watch ends", () => {
  test("with stop(): its problems are gone, and nothing is asked any more", async () => {
    const { receiver, desired, watch, polls, nextPoll } = await startWatched();
    const { stop } = await watch([desired()]);
    await nextPoll();
    stop();
    expect(await codesOf(receiver)).toEqual([]);
    await polls.pass();
    expect(polls.count).toBe(2);
  });

  test("with its receiver: what it finds after that is no problem and no line of the log", async () => {
    const { receiver, desired, watch, polls, log } = await startWatched();
    await watch([desired()]);
    await receiver.close({ drainMs: 0 });
    await polls.pass();
    expect(polls.count).toBe(1);
    expect(log.of("subscription-watch-failed")).toEqual([]);
  });
});

test("what a watch is given is checked", async () => {
  const { receiver, clientOf } = await startWorld();
  const good: WatchOptions = { client: clientOf, desired: () => [] };
  for (const bad of [{ client: 1 }, { desired: [] }, { everyMs: 0 }, { recreate: "yes" }, { every: 1 }])
    expect(() => watchSubscriptions(receiver, { ...good, ...bad } as unknown as WatchOptions)).toThrow(
      expect.objectContaining({ code: "option-invalid" }),
    );
  expect(() => watchSubscriptions({ ...receiver }, good)).toThrow(
    expect.objectContaining({ code: "receiver-invalid" }),
  );
});

const ANY_DISK = { minFreeDiskBytes: 0 };

function file(): string {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "inbox.db");
}
