import pg from "pg";
import { createPostgresInbox, type PostgresOptions } from "../../../adapters/inbox/postgres/postgres-inbox.ts";
import type { Inbox } from "../../../src/index.ts";
import type { WorkingInbox } from "../../../src/adapter.ts";
import type { InboxSubject } from "../../suites/inbox/inbox-subject.ts";
import { newDatabase, type TestDatabase } from "../../support/postgres.ts";

/** A PostgreSQL inbox as the suites use it: each in a database of its own, on the server that all tests share. */
export function inDatabases(): InboxSubject & { make(): Promise<WorkingInbox> } {
  const databases = new WeakMap<Inbox, TestDatabase>();

  function open(database: TestDatabase): WorkingInbox {
    const inbox = openDatabase(database.connectionString);
    databases.set(inbox, database);
    return inbox;
  }

  return {
    make: async () => open(await newDatabase()),
    async crash(inbox) {
      const database = databases.get(inbox) as TestDatabase;
      await crash(inbox as WorkingInbox, database.connectionString);
      return open(database);
    },
    cleanup: async (inbox) => databases.get(inbox)?.drop(),
  };
}

export function openDatabase(connectionString: string, options: Partial<PostgresOptions> = {}): WorkingInbox {
  return createPostgresInbox({
    connection: { connectionString },
    schema: "hookline",
    migrate: true,
    leaseMs: 5_000,
    // Who has lost its connection is taken over from at once.
    goneMs: 0,
    keepDoneMs: Infinity,
    keepUnhandledMs: Infinity,
    keepDeadMs: Infinity,
    maxJobs: Infinity,
    ...options,
  });
}

/** Its process dies: it does nothing more, and the server sees its connections break. */
async function crash(inbox: WorkingInbox, connectionString: string): Promise<void> {
  (inbox as Partial<{ abandon(): void }>).abandon?.();
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );
  await client.end();
}
