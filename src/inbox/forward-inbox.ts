import { randomUUID } from "node:crypto";
import { assertOptions, kindOf } from "../assert.ts";
import { isHooklineError, StorageError, UsageError } from "../errors.ts";
import { catchRejection } from "../thrown.ts";
import { toStored, type StoredDelivery, type StoreResult } from "./port/delivery.ts";
import type { Inbox, StorageKind, WritingInbox } from "./port/inbox.ts";
import type { Tombstones } from "./port/tombstones.ts";

/**
 * Stores nothing itself: hands deliveries to the user's own queue. When `store` resolves they are answered 200. When it rejects, it is called
 * again with parts of them, since one delivery may be the cause; what it rejects alone is answered 503 and redelivered, and so are all
 * where the first ones fail alone, too. Where a queue refuses some of them, `store` resolves with a settled result for each: a
 * rejected one is answered 503. `receiver.accept` and `receiver.handle` are for that queue's consumer.
 *
 * @param store gets the deliveries of one turn of the event loop, at most 500 or 4 MiB; resolves with nothing, or with one result a delivery, in order
 * @param options `storage`: what your queue survives. "network": the end of this machine or function; "disk": the end of the process; "memory": nothing @default "network"
 * @example
 * const inbox = forwardInbox(async (deliveries) => { await queue.addBulk(deliveries.map((data) => ({ name: "hook", data, opts: { attempts: 20 } }))); });
 */
export function forwardInbox<K extends StorageKind = "network">(
  store: (deliveries: readonly StoredDelivery[]) => Promise<void | readonly PromiseSettledResult<unknown>[]>,
  options: { storage?: K | undefined } = {},
): Inbox<K> {
  if (typeof store !== "function")
    throw new UsageError(
      "option-invalid",
      `forwardInbox got ${typeof store}, expected a function that stores deliveries.`,
    );
  assertOptions("forwardInbox", options, { storage: true });
  /** All that are refused together have one reason. */
  async function send(stored: readonly StoredDelivery[]): Promise<readonly Result[]> {
    try {
      const results = (await store([...stored])) ?? undefined; // its own list: it may take its items out, one by one
      if (results === undefined) return stored.map(() => TAKEN);
      const error = checkResults(results, stored.length);
      return error === undefined ? results : stored.map(() => ({ status: "rejected", reason: error }));
    } catch (reason) {
      return stored.map(() => ({ status: "rejected", reason }));
    }
  }

  const inbox: WritingInbox<K> = {
    storage: options.storage ?? ("network" as K),
    open: async () => {},
    store: async (deliveries) => {
      const stored = deliveries.map(({ delivery }) => toStored(randomUUID(), delivery));
      const results = await sendApart(stored, send);
      return stored.map(({ id }, place) => toResult(id, results[place]));
    },
    tombstones: NO_TOMBSTONES,
    ready: () => ({ ready: true }),
    close: async () => {},
  };
  return inbox;
}

type Result = PromiseSettledResult<unknown>;
type Send = (stored: readonly StoredDelivery[]) => Promise<readonly Result[]>;

const TAKEN: Result = { status: "fulfilled", value: undefined };

/** Of what was refused together so many are sent alone first: where all of those fail, it is the queue that fails. */
const MOST_AT_FIRST = 2;

/** One of those that were refused together may be the cause, and all of them would come again together: they are sent in parts. */
async function sendApart(stored: readonly StoredDelivery[], send: Send): Promise<readonly Result[]> {
  const results = [...(await send(stored))];
  for (const places of refusedTogether(results)) {
    const given = places.flatMap((place) => stored[place] ?? []);
    const again: Result[] = [];
    for (const one of given.slice(0, MOST_AT_FIRST)) again.push(...(await send([one])));
    if (again.every(isRejected)) continue;
    again.push(...(await sendHalves(given.slice(MOST_AT_FIRST), send)));
    for (const [index, place] of places.entries()) results[place] = again[index] as Result;
  }
  return results;
}

async function sendHalves(stored: readonly StoredDelivery[], send: Send): Promise<readonly Result[]> {
  if (stored.length === 0) return [];
  const results = await send(stored);
  if (stored.length === 1 || !results.every(isRejected)) return results;
  const middle = stored.length >> 1;
  return [...(await sendHalves(stored.slice(0, middle), send)), ...(await sendHalves(stored.slice(middle), send))];
}

/** Places of results that share their reason. */
function refusedTogether(results: readonly Result[]): readonly (readonly number[])[] {
  const places = new Map<unknown, number[]>();
  for (const [place, result] of results.entries()) {
    if (!isRejected(result) || isHooklineError(result.reason, "forward-results")) continue;
    places.set(result.reason, [...(places.get(result.reason) ?? []), place]);
  }
  return [...places.values()].filter(({ length }) => length > 1);
}

const isRejected = (result: Result): result is PromiseRejectedResult => result.status === "rejected";

function toResult(id: string, result: Result | undefined): StoreResult | StorageError {
  if (result?.status !== "rejected") return { id, expanded: false, duplicates: [], conflicts: [] };
  const { reason: cause } = result as { readonly reason: unknown };
  if (isHooklineError(cause, "forward-results")) return cause;
  catchRejection(cause); // `throw fetch(url)` throws a promise
  return new StorageError("storage-failed", "The queue rejected the delivery.", { cause });
}

/** What is no result for each delivery makes none of them certain. */
function checkResults(results: unknown, count: number): StorageError | undefined {
  const isList = Array.isArray(results);
  const wrong = isList ? results.findIndex((one: unknown) => !isSettled(one)) : 0;
  if (isList && results.length === count && wrong === -1) return undefined;
  const got = !isList
    ? kindOf(results)
    : results.length === count
      ? `${kindOf(results[wrong])} as result ${wrong}`
      : `${results.length} results`;
  return new StorageError(
    "forward-results",
    `forwardInbox got ${got} for ${count} deliveries, expected nothing or a settled result for each.`,
    {
      fix: "Resolve with nothing when the queue has confirmed all of them, or with what `Promise.allSettled` gives for them, in order.",
    },
  );
}

function isSettled(result: unknown): boolean {
  const status = (result as Partial<PromiseSettledResult<unknown>> | null | undefined)?.status;
  return status === "fulfilled" || status === "rejected";
}

async function refuse(): Promise<never> {
  throw new UsageError("no-tombstones", "forwardInbox stores no tombstones.", {
    fix: "Record the subscription in your own store, and check it in `receiver.unsubscribeWhen`.",
  });
}

const NO_TOMBSTONES: Tombstones = {
  isEmpty: true,
  find: () => undefined,
  put: refuse,
  lift: refuse,
  list: async () => [],
};
