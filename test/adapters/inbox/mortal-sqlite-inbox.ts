import type { Inbox } from "hookline";
import { StorageError, type WorkingInbox } from "hookline/adapter";
import { openThread, type ThreadClient } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { createSqliteInbox, type SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";

const crashes = new WeakMap<Inbox, () => Promise<void>>();

/** An SQLite inbox for {@link crashSqliteInbox}. */
export function mortalSqliteInbox({ openThread: open = openThread, ...options }: SqliteOptions): WorkingInbox<"disk"> {
  const death = Promise.withResolvers<never>();
  death.promise.catch(() => {});
  let thread: ThreadClient | undefined;
  let isDead = false;
  const inbox = createSqliteInbox({
    ...options,
    async openThread(given, events) {
      if (isDead) throw new StorageError("storage-failed", "The process is dead.");
      const own = await open(given, events);
      thread = own;
      if (isDead) own.abandon();
      return {
        ...own,
        run: (batch) => Promise.race([own.run(batch), death.promise]),
        // An abandoned thread may have exited already, and answers no close.
        close: async () => (isDead ? undefined : own.close()),
      };
    },
  });
  crashes.set(inbox, () => {
    isDead = true;
    thread?.abandon();
    death.reject(new StorageError("storage-failed", "The process is dead."));
    return inbox.close().catch(() => {}); // its process is dead
  });
  return inbox;
}

/** Leaves a file as if the process that worked on it had died: nothing more is committed; resolves when its lock is free. */
export async function crashSqliteInbox(inbox: Inbox): Promise<void> {
  await crashes.get(inbox)?.();
}
