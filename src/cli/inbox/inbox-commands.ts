import { CommandError, defineCommand, EXIT, type Command } from "../command.ts";
import { commandRows, section } from "../help.ts";
import { clearGapsCommand, gapsCommand } from "./gap-commands.ts";
import { INBOX_FLAGS } from "./inbox-flags.ts";
import { lanesCommand } from "./lanes.ts";
import { listCommand } from "./list.ts";
import { migrateCommand } from "./migrate.ts";
import { pauseCommand, pausedCommand, resumeCommand } from "./pause-commands.ts";
import { dropCommand, eraseCommand, replayCommand } from "./replay-drop-erase.ts";
import { exportCommand, showCommand } from "./show-and-export.ts";
import { statsCommand } from "./stats.ts";
import { liftCommand, tombstonesCommand } from "./tombstone-commands.ts";
import { uiCommand } from "./ui.ts";

/** The commands below `hookline inbox`, in the order of the help. */
export const INBOX_COMMANDS: readonly Command[] = [
  statsCommand,
  listCommand,
  lanesCommand,
  showCommand,
  replayCommand,
  dropCommand,
  eraseCommand,
  pauseCommand,
  resumeCommand,
  pausedCommand,
  tombstonesCommand,
  liftCommand,
  gapsCommand,
  clearGapsCommand,
  exportCommand,
  migrateCommand,
  uiCommand,
];

const ROWS = commandRows(INBOX_COMMANDS, "inbox ");

/** `hookline inbox` without one of its commands. */
export const inboxCommand = defineCommand({
  name: "inbox",
  summary: "Look into an inbox; replay, drop and erase jobs.",
  help: {
    usage: "hookline inbox <command> --inbox <inbox> [flags]",
    about: `Look into an inbox, a file or in PostgreSQL, and change its jobs.

${section("Commands", ROWS)}

  hookline inbox list --help is the help of list.

Every command works beside a running receiver. Those that read write nothing, and none creates an inbox. Ids of
mail, addresses and bodies are shown only with --show-content. All times are UTC.

If the receiver runs on an early Node with an SQLite before 3.51.3, it holds the file exclusively: run Node 22.23, 24.15 or
newer there, or stop it first. For an inbox in PostgreSQL the package pg must be installed.

NO_COLOR turns colours on a terminal off.`,
    exits: { [EXIT.queued]: "Of replay, drop and erase: the change is queued and will be done, do not repeat it." },
  },
  // An inbox may be named before the word that is missing.
  flags: {
    words: { argument: "COMMAND", expects: "a command", read: (text: string) => text, many: true },
    ...INBOX_FLAGS,
  },
  async run({ words }) {
    const allowed = ROWS.map(([name]) => name).join(", ");
    const what = words.length === 0 ? "The command is missing" : `There is no command ${words.join(" ")}`;
    throw new CommandError(EXIT.usage, `${what}. Allowed: ${allowed}.`);
  },
});
