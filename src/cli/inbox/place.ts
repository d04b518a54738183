import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import { lookAtDatabase } from "../../../adapters/inbox/postgres/inspect/inspect-database.ts";
import { lookAtFile, openToRead } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import type { Inbox } from "../../index.ts";
import { CommandError, EXIT, type Io } from "../command.ts";
import { isConnectionString } from "../flags.ts";

/** Where an inbox is, as flags and the environment name it. */
export interface Place {
  /** The value of `--inbox`. */
  readonly inbox: string | undefined;
  /** The value of `--schema`. */
  readonly schema: string | undefined;
}

/** An inbox that is there. */
export interface FoundInbox {
  readonly inbox: Inbox;
  /** Of the receiver that it belongs to. */
  readonly name: string;
  isWorkedOn(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Finds an inbox in an existing file or database. It makes none.
 * @param access `read` never writes into it
 * @throws CommandError StorageError
 */
export async function findInbox(place: Place, env: Io["env"], access: "read" | "change"): Promise<FoundInbox> {
  const where = inboxPlace(place, env);
  if (isConnectionString(where)) {
    const database = await lookAtDatabase({ connectionString: where, schema: place.schema });
    return {
      inbox: database.inbox(access),
      name: database.facts.name,
      isWorkedOn: async () => (await database.workersAlive(1)) > 0,
      close: database.close,
    };
  }
  const { name, isWorkedOn } = lookAtFile(where);
  return {
    inbox:
      access === "change"
        ? sqliteInbox(where)
        : createSqliteInbox({ file: where, isReadOnly: true, openThread: openToRead }),
    name,
    isWorkedOn: () => Promise.resolve(isWorkedOn),
    close: () => Promise.resolve(),
  };
}

/**
 * The path of the inbox's file, or the connection string of its database.
 *
 * @throws CommandError when neither the flag nor the environment names it, and for a schema of a file
 */
export function inboxPlace({ inbox, schema }: Place, env: Io["env"]): string {
  const where = inbox ?? env["HOOKLINE_INBOX"] ?? "";
  if (where === "")
    throw new CommandError(
      EXIT.usage,
      "--inbox is missing, expected the path of the inbox file, or the connection string of its database. HOOKLINE_INBOX may name it.",
    );
  if (schema !== undefined && !isConnectionString(where))
    throw new CommandError(
      EXIT.usage,
      `--schema got ${schema}, but ${where} is a file, which has no schemas. Leave it out.`,
    );
  return where;
}
