import { assertFunction, assertOptions, kindOf } from "../assert.ts";
import type { Client } from "../client.ts";
import { isHooklineError, UsageError, type Context, type EventOf, type Id, type Receiver } from "../index.ts";
import type { SyncScope } from "./scopes.ts";
import type { SyncRecords } from "./sources.ts";

/** Options of {@link fetchChanged}. @typeParam T the records */
export interface FetchChangedOptions<T> {
  /** The client of an account, such as `clients(optionsOf)` of `hookline/client` gives it. */
  client: (accountId: Id) => Client | Promise<Client>;
  /** Inserts or replaces a record in your copy. */
  apply(record: T, scope: SyncScope): Promise<unknown>;
  /** Removes a record from your copy; an id that it does not have is to be ignored. */
  remove(id: string, scope: SyncScope): Promise<unknown>;
  /** As for a handler. @default "default" */
  consumer?: string | undefined;
}

/** A record that was announced as created or updated may not be visible yet: so many attempts are failures before it counts as gone. */
const UNSEEN_ATTEMPTS = 2;

const ALLOWED: Readonly<Record<keyof FetchChangedOptions<unknown>, true>> = {
  client: true,
  apply: true,
  remove: true,
  consumer: true,
};

/**
 * Fetches each contact or task that was announced; one that is not there is removed. What was never announced stays unseen: `deltaSync` finds
 * that, too.
 *
 * @throws UsageError `option-invalid`, `handler-doubled`
 * @example fetchChanged(receiver, "contact", { client, apply, remove });
 */
export function fetchChanged<F extends "contact" | "task">(
  receiver: Receiver,
  family: F,
  options: FetchChangedOptions<SyncRecords[F]>,
): void {
  assertOptions("fetchChanged", options, ALLOWED);
  for (const name of ["client", "apply", "remove"] as const) assertFunction(`fetchChanged for ${name}`, options[name]);
  const { client, apply, remove, consumer } = options;

  async function handle(event: EventOf<"contact" | "task">, { signal, attempt }: Context): Promise<void> {
    const { id, accountId, resource } = event;
    const records =
      "taskListId" in event ? (await client(accountId)).tasks(event.taskListId) : (await client(accountId)).contacts;
    const scope = { accountId, resource, signal };
    let record: SyncRecords[F];
    try {
      record = await records.get(id, { signal });
    } catch (error) {
      const isGone = isHooklineError(error, "service-not-found");
      if (!isGone || (event.changeType !== "deleted" && attempt <= UNSEEN_ATTEMPTS)) throw error;
      await remove(id, scope);
      return;
    }
    await apply(record, scope);
  }

  if (family === "contact") receiver.on("contact", handle, { consumer });
  else if (family === "task") receiver.on("task", handle, { consumer });
  else
    throw new UsageError(
      "option-invalid",
      `fetchChanged got ${kindOf(family)} for the family, expected "contact" or "task".`,
      {
        fix: "Messages and events have a delta sync: use `deltaSync`.",
      },
    );
}
