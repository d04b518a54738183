import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import { lookAtFile, openToRead, type FileFacts } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import type { Tombstones, WritingInbox } from "../../adapter.ts";
import { createReceiver, isHooklineError, type Inbox, type Receiver } from "../../index.ts";
import { CommandError, EXIT, type ExitCode, type Io } from "../command.ts";
import { createPrinter, exitCodeOf, PrintError, type Printer } from "../terminal/printer.ts";

/** An inbox file, open for a command. */
export interface OpenFile {
  /** Never started: it neither receives nor works. */
  readonly receiver: Pick<Receiver, "jobs" | "resubscribe" | "close">;
  readonly tombstones: () => ReturnType<Tombstones["list"]>;
  readonly facts: FileFacts;
  readonly printer: Printer;
}

export interface InboxUse {
  /** The value of `--inbox`. */
  readonly file: string | undefined;
  readonly io: Pick<Io, "env" | "stdout">;
  /** `read` never writes into the file. */
  readonly access: "read" | "change";
}

/**
 * Opens an existing file, whatever the receiver's name, and closes it again.
 *
 * @throws CommandError for a problem with the file, or with stdout
 */
export function withInbox(
  { file, io, access }: InboxUse,
  run: (inbox: OpenFile) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withPrinter(io, access, async (printer) => {
    const path = inboxPath(file, io.env);
    const facts = lookAtFile(path);
    const inbox =
      access === "change"
        ? sqliteInbox(path)
        : createSqliteInbox({ file: path, isReadOnly: true, openThread: openToRead });
    const receiver = createReceiver({ secret: undefined, inbox, name: facts.name, log: false });
    try {
      return await run({ receiver, facts, printer, tombstones: () => tombstonesOf(inbox, receiver) });
    } finally {
      await receiver.close({ drainMs: 0 });
    }
  });
}

/**
 * Runs a command that prints, and that may fail with an inbox's error. A command that only reads has failed where nothing was
 * printed.
 *
 * @throws CommandError
 */
export async function withPrinter(
  { stdout }: Pick<Io, "stdout">,
  access: InboxUse["access"],
  run: (printer: Printer) => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await run(createPrinter(stdout));
  } catch (error) {
    if (!(error instanceof PrintError)) throw toCommandError(error);
    if (access === "read" && !error.hasPrinted && error.cause.code === "EPIPE")
      throw new CommandError(EXIT.failed, "stdout was closed before anything was printed.", { cause: error });
    return exitCodeOf(error.cause);
  }
}

/**
 * The path of the inbox file.
 *
 * @throws CommandError when neither the flag nor the environment names it
 */
export function inboxPath(file: string | undefined, env: Io["env"]): string {
  const path = file ?? env["HOOKLINE_INBOX"] ?? "";
  if (path !== "") return path;
  throw new CommandError(
    EXIT.usage,
    "--inbox is missing, expected the path of the inbox file. HOOKLINE_INBOX may name it.",
  );
}

async function tombstonesOf(inbox: Inbox, receiver: Pick<Receiver, "jobs">): ReturnType<Tombstones["list"]> {
  await receiver.jobs.get("0"); // opens the inbox: there is no such job
  return (inbox as WritingInbox).tombstones.list();
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
