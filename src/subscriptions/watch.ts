import { assertBoolean, assertFunction, assertOptions, wholeNumber } from "../assert.ts";
import type { Client, Subscription } from "../client.ts";
import { LONGEST_TIMER_MS, type Timer } from "../clock.ts";
import type { Receiver } from "../index.ts";
import type { Id } from "../protocol/event-types.ts";
import { detailOf, toProblems, type Problem } from "../receiver/health/problem-catalog.ts";
import { internalsOf, type Internals } from "../receiver/internals.ts";
import { catchRejection } from "../thrown.ts";
import { answerOf, forEachAccount, type ClientOf } from "./accounts.ts";
import { createMissing, deleteIfThere, listAll } from "./create-missing.ts";
import { byAccount, describe, type Desired } from "./desired.ts";
import { fits, resourceKey } from "./same-subscription.ts";

/** Options of {@link watchSubscriptions}. */
export interface WatchOptions {
  /** The client of an account, such as `clients(...)` of `hookline/client`. */
  client: ClientOf;
  /** Asked before each poll: what is to exist now, such as from your table of accounts. */
  desired(): readonly Desired[] | Promise<readonly Desired[]>;
  /** From the end of a poll to the next one, milliseconds. @default 600_000 */
  everyMs?: number | undefined;
  /** Create what is gone. One that was unsubscribed is not created again, as long as its tombstone stands. @default false */
  recreate?: boolean | undefined;
}

/** A running watch. */
export interface SubscriptionWatch {
  /** Ends it: its problems leave `health()`. */
  stop(): void;
}

const EVERY_MS = 10 * 60 * 1_000;

const ALLOWED: Readonly<Record<keyof WatchOptions, true>> = {
  client: true,
  desired: true,
  everyMs: true,
  recreate: true,
};

/**
 * Asks the service for the desired subscriptions, at once and from time to time: no event says that one was removed. What is gone or fails
 * is a problem of `receiver.health()`; a failing one is stored in the inbox as after `lifecycle.error`. A subscription with a tombstone is
 * deleted at the service. Ends with `stop()`, and when the receiver closes.
 *
 * @throws UsageError `option-invalid`, `receiver-invalid`
 * @see protocol 3, the lifecycle of a subscription
 * @example
 * const watch = watchSubscriptions(receiver, { client, desired: () => subscriptionsOf(accounts), recreate: true });
 */
export function watchSubscriptions(receiver: Receiver, options: WatchOptions): SubscriptionWatch {
  const internals = internalsOf(receiver);
  assertOptions("watchSubscriptions", options, ALLOWED);
  const { client, desired, recreate = false } = options;
  assertFunction("watchSubscriptions's `client`", client);
  assertFunction("watchSubscriptions's `desired`", desired);
  assertBoolean("watchSubscriptions's `recreate`", recreate);
  const everyMs = wholeNumber({
    where: "watchSubscriptions",
    name: "everyMs",
    value: options.everyMs ?? EVERY_MS,
    least: 1,
    most: LONGEST_TIMER_MS,
  });
  const { clock, problemSources, state } = internals;
  const absences: Absences = { since: new Map(), seenAt: new Map() };
  let problems: readonly Problem[] = [];
  let timer: Timer | undefined;
  let hasEnded = false;
  const source = (): readonly Problem[] => problems;

  async function pollAgain(): Promise<void> {
    const found = await poll(receiver, { client, desired, recreate, absences });
    if (hasEnded || isClosing(state())) return;
    problems = found;
    timer = clock.setTimer(() => void pollAgain(), everyMs);
    timer.unref?.();
  }

  problemSources.add(source);
  void pollAgain();
  return {
    stop() {
      hasEnded = true;
      timer?.clear();
      problemSources.delete(source);
    },
  };
}

function isClosing(state: ReturnType<Internals["state"]>): boolean {
  return state === "closing" || state === "closed";
}

interface PollOptions extends Required<Pick<WatchOptions, "client" | "desired" | "recreate">> {
  readonly absences: Absences;
}

/** By what they are for: since when a desired subscription is not there, and when one was seen last. Milliseconds since the epoch. */
interface Absences {
  readonly since: Map<string, number>;
  readonly seenAt: Map<string, number>;
}

/** Never rejects. */
async function poll(
  receiver: Receiver,
  { client, desired: desiredNow, recreate, absences }: PollOptions,
): Promise<readonly Problem[]> {
  const internals = internalsOf(receiver);
  const gone: string[] = [];
  const failed: string[] = [];
  const fail = (error: unknown, of: string): void => {
    catchRejection(error); // `throw fetch(url)` throws a promise
    if (isClosing(internals.state())) return;
    internals.log.warn({ code: "subscription-watch-failed", err: error }, "subscriptions could not be checked");
    failed.push(`${of}: ${detailOf(error).detail ?? "see the cause in the log."}`);
  };
  try {
    const asked = { ...internals, what: "`desired` of `watchSubscriptions`" };
    const accounts = byAccount("watchSubscriptions", await answerOf(desiredNow(), asked));
    const records = await readRecords(internals);
    const failures = await forEachAccount(accounts.keys(), async (accountId) => {
      const desired = accounts.get(accountId) ?? [];
      const account = { receiver, internals, records, accountId, desired, client, recreate, absences };
      gone.push(...(await pollAccount(account)));
    });
    for (const { accountId, error } of failures) fail(error, `Account ${accountId}`);
  } catch (error) {
    fail(error, "All accounts");
  }
  return [...toProblems("subscription-gone", gone), ...toProblems("subscription-watch-failed", failed)];
}

/** What the inbox has recorded of subscriptions. */
interface Records {
  /** Those with a tombstone, and the accounts that they were of, as far as those are known. */
  readonly unwanted: ReadonlyMap<Id, ReadonlySet<Id> | undefined>;
  /** The same by what they were for, as far as that is known. */
  readonly unwantedByKey: ReadonlyMap<string, readonly Id[]>;
  /** Those in error, by account. */
  readonly errored: ReadonlyMap<Id, readonly Id[]>;
}

async function readRecords({ opened, tombstones, subscriptions }: Internals): Promise<Records> {
  await opened();
  const unwanted = new Map<Id, Set<Id> | undefined>();
  for (const { subscription } of await tombstones.list()) unwanted.set(subscription, undefined);
  const unwantedByKey = new Map<string, Id[]>();
  const errored = new Map<Id, Id[]>();
  for (const one of await subscriptions.known()) {
    if (unwanted.has(one.subscription)) {
      unwanted.set(one.subscription, (unwanted.get(one.subscription) ?? new Set()).add(one.accountId));
      add(unwantedByKey, keyOf(one), one.subscription);
    } else if (one.error !== undefined) add(errored, one.accountId, one.subscription);
  }
  return { unwanted, unwantedByKey, errored };
}

function add<K>(map: Map<K, Id[]>, key: K, id: Id): void {
  map.set(key, [...(map.get(key) ?? []), id]);
}

function keyOf({ accountId, resource }: { readonly accountId: Id; readonly resource: string }): string {
  return `${accountId} ${resourceKey(resource)}`;
}

interface AccountPoll extends Omit<PollOptions, "desired"> {
  readonly receiver: Receiver;
  readonly internals: Internals;
  readonly records: Records;
  readonly accountId: Id;
  /** What is desired of the account. */
  readonly desired: readonly Desired[];
}

/** @returns what is gone, and why it could not be created again */
async function pollAccount(account: AccountPoll): Promise<readonly string[]> {
  const { receiver, internals, records, accountId, desired, client: clientOf, recreate } = account;
  const client = await answerOf(clientOf(accountId), { ...internals, what: "`client` of `watchSubscriptions`" });
  const unwantedKeys = new Set(records.unwantedByKey.keys());
  const all = await listAll(client);
  // Another application's may have the same number.
  const isUnwanted = ({ id }: Subscription): boolean =>
    records.unwanted.get(id)?.has(accountId) ?? records.unwanted.has(id);
  for (const one of all) if (isUnwanted(one)) unwantedKeys.add(await deleteUnwanted(client, one, account));
  let listed: readonly Subscription[] = all.filter((one) => !isUnwanted(one));
  const isMissing = (one: Desired): boolean => !listed.some((other) => fits(one, other));
  // Who created another one since wants it again.
  for (const one of desired)
    for (const id of isMissing(one) ? [] : (records.unwantedByKey.get(keyOf(one)) ?? []))
      await internals.subscriptions.unlearn(id);
  const missing = desired.filter((one) => isMissing(one) && !unwantedKeys.has(keyOf(one)));
  noteAbsent(account, missing);
  let why = "";
  if (recreate && missing.length > 0) {
    try {
      const created = await createMissing(client, missing, receiver);
      internals.log.warn({ code: "subscription-recreated", accountId, created }, "subscriptions were gone");
    } catch (error) {
      internals.log.warn({ code: "subscription-gone", accountId, err: error }, "subscriptions could not be created");
      why = ` It could not be created: ${detailOf(error).detail ?? "see the cause in the log."}`;
    }
    listed = await listAll(client);
  }
  await recordAbsences(account, listed);
  await recordStates(account, listed);
  return missing.filter(isMissing).map((one) => `${describe(one)} of account ${accountId}.${why}`);
}

function noteAbsent({ absences: { since, seenAt }, internals }: AccountPoll, missing: readonly Desired[]): void {
  for (const key of missing.map(keyOf)) if (!since.has(key)) since.set(key, seenAt.get(key) ?? internals.clock.now());
}

/** What changed while a subscription did not exist, no delivery tells. */
async function recordAbsences(
  { absences: { since, seenAt }, internals, accountId, desired }: AccountPoll,
  listed: readonly Subscription[],
): Promise<void> {
  const until = internals.clock.now();
  for (const one of desired) {
    const key = keyOf(one);
    const found = listed.find((other) => fits(one, other));
    const from = since.get(key);
    if (found === undefined) continue;
    seenAt.set(key, until);
    since.delete(key);
    const { id: subscription, resource } = found;
    // An outage may come before its first delivery.
    internals.gaps.seen({ subscription, accountId, resource }, undefined);
    if (from === undefined) continue;
    await internals.gaps.record([{ source: undefined, subscription, accountId, resource, cause: "gone", from, until }]);
  }
}

/** The receiver answers 422 to its deliveries, but a quiet one gets none. @returns what it was for */
async function deleteUnwanted(
  client: Client,
  { id, resource }: Subscription,
  { internals, accountId }: AccountPoll,
): Promise<string> {
  // First: once it is deleted, nothing tells any more what it was for.
  await learn(internals, { subscription: id, accountId, resource, error: undefined });
  await deleteIfThere(client, id);
  internals.log.info({ code: "subscription-deleted", subscription: id }, "deleted at the service: it has a tombstone");
  return keyOf({ accountId, resource });
}

/** Records an error that no notice told, and the end of one. */
async function recordStates(
  { internals, records, accountId, desired }: AccountPoll,
  listed: readonly Subscription[],
): Promise<void> {
  const errored = records.errored.get(accountId) ?? [];
  for (const one of listed.filter((other) => desired.some((wanted) => fits(wanted, other)))) {
    const error = errorOf(one);
    const isKnown = errored.includes(one.id);
    if (error === undefined && isKnown) await internals.subscriptions.unlearn(one.id);
    if (error !== undefined && !isKnown)
      await learn(internals, { subscription: one.id, accountId, resource: one.resource, error });
    if ((error !== undefined) !== isKnown) await recordError(internals, one, { accountId, hasEnded: isKnown });
  }
  for (const id of errored) {
    if (listed.some((one) => one.id === id)) continue;
    // No `active` will come of what does not exist.
    await internals.subscriptions.unlearn(id);
    internals.gaps.forget(id, undefined);
  }
}

function recordError(
  { gaps, clock }: Internals,
  { id, resource }: Subscription,
  { accountId, hasEnded }: { readonly accountId: Id; readonly hasEnded: boolean },
): Promise<void> {
  const from = clock.now();
  const until = hasEnded ? from : undefined;
  return gaps.record([{ source: undefined, subscription: id, accountId, resource, cause: "errored", from, until }]);
}

/** @see protocol 2.1; the service's public description has these fields */
function errorOf({ active, failSince, failDescription, disabledByBilling }: Subscription): string | undefined {
  if (disabledByBilling === true) return "disabled by billing";
  if (active !== false && failSince === undefined) return undefined;
  return `${failDescription ?? "not active"}${failSince === undefined ? "" : `, since ${failSince}`}`;
}

function learn(
  { subscriptions, clock }: Internals,
  notice: Parameters<Internals["subscriptions"]["learn"]>[0],
): Promise<void> {
  return subscriptions.learn(notice, { source: undefined, sentAt: clock.now() });
}
