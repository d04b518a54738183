import type { ManyArguments } from "../arguments.ts";
import { CommandError } from "../command-error.ts";
import { defineCommand, type Command } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { INBOX_FLAGS } from "./common-flags.ts";
import { dropCommand } from "./drop.ts";
import { eraseCommand } from "./erase.ts";
import { exportCommand } from "./export.ts";
import { EXITS } from "./help-parts.ts";
import { listCommand } from "./list.ts";
import { replayCommand } from "./replay.ts";
import { showCommand } from "./show.ts";
import { statsCommand } from "./file-stats.ts";
import { liftCommand, tombstonesCommand } from "./tombstone-commands.ts";

/** What can follow `hookline inbox`, in the order of the help. */
export const INBOX_COMMANDS: readonly Command[] = [
  statsCommand,
  listCommand,
  showCommand,
  replayCommand,
  dropCommand,
  eraseCommand,
  tombstonesCommand,
  liftCommand,
  exportCommand,
];

const words: ManyArguments<string> = {
  argument: "COMMAND",
  many: true,
  expects: "a command",
  read: (text) => text,
};

/** `hookline inbox` without one of its commands. */
export const inboxCommand = defineCommand({
  name: "inbox",
  summary: "Look into the file of an inbox; replay, drop and erase jobs.",
  help: helpOf(INBOX_COMMANDS),
  // A file may be named before the word that is missing.
  flags: { words, ...INBOX_FLAGS },
  async run({ words: typed }) {
    const allowed = INBOX_COMMANDS.map(({ name }) => shortOf(name)).join(", ");
    const what = typed.length === 0 ? "The command is missing" : `There is no command ${typed.join(" ")}`;
    throw new CommandError(EXIT.usage, `${what}. Allowed: ${allowed}.`);
  },
});

function helpOf(commands: readonly Pick<Command, "name" | "summary">[]): string {
  return `Look into the file of an inbox, and change it by hand.

Usage: hookline inbox <command> --inbox <file> [flags]

Commands:
${commands.map(({ name, summary }) => `  ${shortOf(name).padEnd(15)} ${summary}`).join("\n")}

  hookline inbox list --help tells all about list.

All of it works beside a running receiver. Looking writes nothing into the file,
and makes none. What could be somebody's mail, calendar or address is shown only
with --show-content. All times are UTC.

Where an early Node with an SQLite before 3.51.3 runs the receiver, it has the
file for itself: run Node 22.23, 24.15 or newer there, or stop it first.

Environment:
  HOOKLINE_INBOX  The file, where --inbox does not say it.
  NO_COLOR        Set it for an output without colours on a terminal.

${EXITS}
  3  Of replay, drop and erase: it is queued and will be done, do not ask again.
`;
}

function shortOf(name: string): string {
  return name.replace("inbox ", "");
}
