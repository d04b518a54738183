import { randomUUID } from "node:crypto";
import { assertOptions, kindOf } from "../assert.ts";
import { StorageError, UsageError } from "../errors.ts";
import { catchRejection } from "../thrown.ts";
import { toStored, type StoredDelivery, type StoreResult } from "./port/delivery.ts";
import type { Inbox, StorageKind, WritingInbox } from "./port/inbox.ts";
import type { Tombstones } from "./port/tombstones.ts";

/**
 * Stores nothing itself: hands deliveries to the user's own queue. When `store` resolves they are answered 200; when it rejects, all
 * deliveries of that call are answered 503 and redelivered. Where a queue refuses some of them, `store` resolves with a settled result for
 * each: a rejected one is answered 503. `receiver.accept` and `receiver.handle` are for that queue's consumer.
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
  const inbox: WritingInbox<K> = {
    storage: options.storage ?? ("network" as K),
    open: async () => {},
    store: async (deliveries) => {
      const stored = deliveries.map(({ delivery }) => toStored(randomUUID(), delivery));
      try {
        const results = (await store(stored)) ?? undefined;
        if (results === undefined) return stored.map(({ id }) => toResult(id));
        const error = checkResults(results, stored.length);
        return stored.map(({ id }, place) => error ?? toResult(id, results[place]));
      } catch (cause) {
        const error = refused(cause);
        return stored.map(() => error);
      }
    },
    tombstones: NO_TOMBSTONES,
    ready: () => ({ ready: true }),
    close: async () => {},
  };
  return inbox;
}

function toResult(id: string, result?: PromiseSettledResult<unknown>): StoreResult | StorageError {
  if (result?.status === "rejected") return refused(result.reason);
  return { id, expanded: false, duplicates: [], conflicts: [] };
}

function refused(cause: unknown): StorageError {
  catchRejection(cause); // `throw fetch(url)` throws a promise
  return new StorageError("storage-failed", "The queue behind forwardInbox rejected the delivery.", { cause });
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
