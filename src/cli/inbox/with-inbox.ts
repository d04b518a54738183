import { openToRead, lookAtFile, type FileFacts } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import type { Tombstones, WritingInbox } from "../../adapter.ts";
import { createReceiver, type Inbox, type Receiver } from "../../index.ts";
import { CommandError } from "../command-error.ts";
import type { Io, Terminal } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { endedWithoutReader } from "../terminal/broken-pipe.ts";
import { toCommandError } from "./command-error.ts";
import { createPrinter, ReaderError, type Printer } from "../terminal/printer.ts";

/** What a command has of a file. */
export interface OpenInbox {
  /** It is never started: it neither receives nor works. */
  readonly receiver: Pick<Receiver, "jobs" | "resubscribe" | "close">;
  readonly tombstones: () => ReturnType<Tombstones["list"]>;
  readonly facts: FileFacts;
  readonly printer: Printer;
  readonly stdout: Terminal;
}

export interface InboxUse {
  /** As it was typed. */
  readonly file: string | undefined;
  readonly io: Pick<Io, "env" | "stdout">;
  /** `look`: nothing is written, whatever is asked for. */
  readonly use: "look" | "change";
}

/**
 * Opens a file that is there, whatever the receiver's name, and closes it again.
 * @throws CommandError for what goes wrong with the file, or with stdout
 */
export function withInbox(
  { file, io, use }: InboxUse,
  run: (inbox: OpenInbox) => Promise<ExitCode>,
): Promise<ExitCode> {
  return printing(io, use, async (printer) => {
    const path = fileOf(file, io.env);
    const facts = lookAtFile(path);
    const inbox =
      use === "change"
        ? sqliteInbox(path)
        : createSqliteInbox({ file: path, isReadOnly: true, openThread: openToRead });
    const receiver = createReceiver({ secret: undefined, inbox, name: facts.name, log: false });
    try {
      return await run({ receiver, facts, printer, stdout: io.stdout, tombstones: () => stonesOf(inbox, receiver) });
    } finally {
      await receiver.close({ drainMs: 0 });
    }
  });
}

/**
 * For what prints and may fail as an inbox does. Who only looks has got nothing where nothing was printed.
 * @throws CommandError
 */
export async function printing(
  { stdout }: Pick<Io, "stdout">,
  use: InboxUse["use"],
  run: (printer: Printer) => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await run(createPrinter(stdout));
  } catch (error) {
    if (error instanceof ReaderError) {
      if (use === "look" && !error.begun && error.cause.code === "EPIPE")
        throw new CommandError(EXIT.failed, "stdout was closed before anything was printed.", { cause: error });
      return endedWithoutReader(error.cause);
    }
    throw toCommandError(error);
  }
}

/**
 * Which file is meant.
 * @throws CommandError when none is
 */
export function fileOf(file: string | undefined, env: Io["env"]): string {
  const path = file ?? env["HOOKLINE_INBOX"] ?? "";
  if (path !== "") return path;
  throw new CommandError(
    EXIT.usage,
    "--inbox is missing, expected the path of the inbox file. HOOKLINE_INBOX may say it.",
  );
}

async function stonesOf(inbox: Inbox, receiver: Pick<Receiver, "jobs">): ReturnType<Tombstones["list"]> {
  await receiver.jobs.get("0"); // opens it: there is no such job
  return (inbox as WritingInbox).tombstones.list();
}
