import { randomUUID } from "node:crypto";
import { assertOptions } from "../assert.ts";
import { StorageError, UsageError } from "../errors.ts";
import { toStored, type StoredDelivery } from "./port/delivery.ts";
import type { Inbox, StorageKind, WritingInbox } from "./port/inbox.ts";
import type { Tombstones } from "./port/tombstones.ts";

/**
 * Stores nothing itself: hands deliveries to the user's own queue. When `store` resolves they are answered 200; when it rejects, all
 * deliveries of that call are answered 503 and redelivered. `receiver.handle` is for that queue's consumer.
 *
 * @param store gets the deliveries of one turn of the event loop, at most 500 or 4 MiB
 * @param options `storage`: what your queue survives. "network": the end of this machine or function; "disk": the end of the process; "memory": nothing @default "network"
 * @example
 * const inbox = forwardInbox(async (deliveries) => { await queue.addBulk(deliveries.map((data) => ({ name: "hook", data, opts: { attempts: 20 } }))); });
 */
export function forwardInbox<K extends StorageKind = "network">(
  store: (deliveries: readonly StoredDelivery[]) => Promise<void>,
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
        await store(stored);
      } catch (cause) {
        const error = new StorageError("storage-failed", "The queue behind forwardInbox rejected the deliveries.", {
          cause,
        });
        return stored.map(() => error);
      }
      return stored.map(({ id }) => ({ id, expanded: false, duplicates: [], conflicts: [] }));
    },
    tombstones: NO_TOMBSTONES,
    ready: () => ({ ready: true }),
    close: async () => {},
  };
  return inbox;
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
