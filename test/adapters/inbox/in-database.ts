import { Socket } from "node:net";
import pg from "pg";
import { createPostgresInbox, type PostgresOptions } from "../../../adapters/inbox/postgres/postgres-inbox.ts";
import type { Inbox } from "../../../src/index.ts";
import type { WorkingInbox } from "../../../src/adapter.ts";
import type { InboxSubject } from "../../suites/inbox/inbox-subject.ts";
import { newDatabase, type TestDatabase } from "../../support/postgres.ts";

export interface Databases extends InboxSubject {
  make(): Promise<WorkingInbox>;
  /** @param alone no other process works: all that are in the tables are dead */
  crash(inbox: Inbox, alone?: boolean): Promise<WorkingInbox>;
  cleanup(inbox: Inbox): Promise<void>;
  /** Another process on the same database, not yet open. */
  beside(inbox: WorkingInbox): WorkingInbox;
}

/** A PostgreSQL inbox as the suites use it: each in a database of its own, on the server that all tests share. */
export function inDatabases(options: Partial<PostgresOptions> = {}): Databases {
  const processes = new WeakMap<Inbox, { readonly database: TestDatabase; readonly sockets: MortalSockets }>();

  function open(database: TestDatabase): WorkingInbox {
    const { connectionString } = database;
    const sockets = mortalSockets();
    const inbox = openDatabase(connectionString, {
      ...options,
      connection: { connectionString, stream: sockets.open },
    });
    processes.set(inbox, { database, sockets });
    return inbox;
  }

  return {
    make: async () => open(await newDatabase()),
    beside: (inbox) => open(processes.get(inbox)!.database),
    async crash(inbox, alone = false) {
      const { database, sockets } = processes.get(inbox)!;
      await endBackends(database, sockets.die());
      if (alone) await markPresent(database);
      return open(database);
    },
    cleanup: async (inbox) => processes.get(inbox)?.database.drop(),
  };
}

/** The connections of one process. */
interface MortalSockets {
  readonly open: () => Socket;
  /** The process dies: what is left of it never reaches the server again. @returns the ports that it had */
  die(): readonly number[];
}

function mortalSockets(): MortalSockets {
  const sockets = new Set<Socket>();
  let isDead = false;
  return {
    open() {
      const socket = new Socket();
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      if (isDead) socket.connect = () => socket.destroy(new Error("The process is dead."));
      return socket;
    },
    die() {
      isDead = true;
      const ports = [...sockets].flatMap(({ localPort }) => localPort ?? []);
      for (const socket of sockets) socket.destroy();
      return ports;
    },
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
    keepBodies: "retention",
    maxJobs: Infinity,
    ...options,
  });
}

/** A worker that died before it had its lock, on a busy machine, would be taken over from after its lease alone. */
async function markPresent({ connectionString }: TestDatabase): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query("select to_regclass('hookline.worker') as made");
  if (rows[0].made !== null) await client.query("update hookline.worker set present = true where alive");
  await client.end();
}

/** A server notices at once that a machine's sockets are closed, but not in the middle of a statement. */
async function endBackends({ connectionString }: TestDatabase, ports: readonly number[]): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where client_port = any ($1)", [
    ports,
  ]);
  await client.end();
}
