import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import { lookAtDatabase } from "../../../adapters/inbox/postgres/inspect/inspect-database.ts";
import { lookAtFile, openToRead } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { createReceiver, isHooklineError, type Inbox, type Receiver } from "../../index.ts";
import { CommandError, EXIT, type ExitCode, type Io } from "../command.ts";
import { isConnectionString } from "../flags.ts";
import { withPrinter, type Printer } from "../terminal/printer.ts";

/** Where an inbox is, as flags and the environment name it. */
export interface Place {
  /** The value of `--inbox`. */
  readonly inbox: string | undefined;
  /** The value of `--schema`. */
  readonly schema: string | undefined;
}

/** An inbox, open for a command. */
export interface OpenInbox {
  /** Never started: it neither receives nor works. */
  readonly receiver: Pick<Receiver, "flow" | "jobs" | "lists" | "resubscribe" | "close">;
  /** Whether some process works on it now. */
  readonly isWorkedOn: () => Promise<boolean>;
  readonly printer: Printer;
}

export interface InboxUse extends Place {
  readonly io: Pick<Io, "env" | "stdout">;
  /** `read` never writes into it. */
  readonly access: "read" | "change";
}

/**
 * Opens an existing inbox, whatever the receiver's name, and closes it again.
 *
 * @throws CommandError for a problem with the inbox, or with stdout
 */
export function withInbox(
  { io, access, ...place }: InboxUse,
  run: (inbox: OpenInbox) => Promise<ExitCode>,
): Promise<ExitCode> {
  return printing(io, access, async (printer) => {
    const { inbox, name, isWorkedOn, close } = await findInbox(place, io.env, access);
    // It is not there to receive, so it must not mark that somebody is.
    const receiver = createReceiver({ secret: undefined, inbox, name, log: false, gaps: false });
    try {
      return await run({ receiver, isWorkedOn, printer });
    } finally {
      await receiver.close({ drainMs: 0 });
      await close();
    }
  });
}

/**
 * Runs a command that prints, and that may fail with an inbox's error.
 *
 * @throws CommandError
 */
export function printing(
  io: Pick<Io, "stdout">,
  access: InboxUse["access"],
  run: (printer: Printer) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withPrinter(io, access, (printer) =>
    run(printer).catch((error: unknown) => {
      throw toCommandError(error);
    }),
  );
}

/** An inbox's error in the words of the command line; any other error unchanged. */
export function toCommandError(error: unknown): unknown {
  if (!isHooklineError(error)) return error;
  const { code, message, fix = "" } = error;
  const fail = (exitCode: ExitCode, text: string) => new CommandError(exitCode, text, { cause: error });
  switch (code) {
    case "jobs-invalid": // only a filter's field can be invalid here
      return fail(EXIT.usage, message.replace(/^jobs\.\w+\(\) got /, "--"));
    case "closed": // by a signal, between two pages
      return fail(
        EXIT.failed,
        message.replace("The receiver closed", "Stopped").replace(fix, "The rest is unchanged."),
      );
    case "request-queued":
      return fail(EXIT.queued, `${message} (${code})`);
    default:
      return fail(EXIT.failed, `${message} (${code})`);
  }
}

/** An inbox that is there. */
interface FoundInbox {
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
async function findInbox(place: Place, env: Io["env"], access: "read" | "change"): Promise<FoundInbox> {
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
