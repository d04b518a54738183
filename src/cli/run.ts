import { createRequire } from "node:module";
import { isHooklineError } from "../index.ts";
import { assertGiven, parseArguments } from "./arguments.ts";
import { check } from "./check.ts";
import { CommandError } from "./command-error.ts";
import type { Command, Io } from "./command.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { explainCommand } from "./explain-command.ts";
import { findCommand, type Typed } from "./find-command.ts";
import { mainHelp } from "./help.ts";
import { INBOX_COMMANDS, inboxCommand } from "./inbox/inbox-commands.ts";
import { send } from "./send.ts";
import { serve } from "./serve.ts";
import { endedWithoutReader } from "./terminal/broken-pipe.ts";

/** What can follow `hookline`, in the order of the help. */
const COMMANDS: readonly Command[] = [serve, send, check, explainCommand, inboxCommand];

/** Those of several words, too. */
const ALL: readonly Command[] = [...COMMANDS, ...INBOX_COMMANDS];

/**
 * The program: finds the command, reads its flags, runs it. Never rejects: what goes wrong is a sentence on stderr and an
 * exit code.
 *
 * @param args without Node and the program's file
 */
export async function run(args: readonly string[], io: Io): Promise<ExitCode> {
  // A reader that leaves must not end the process half-way.
  io.stdout.on("error", () => {});
  io.stderr.on("error", () => {});
  const typed = findCommand(args, ALL);
  try {
    const code = await (typed === undefined ? runMain(args, io) : runCommand(typed, io));
    return code === EXIT.done ? await printed(io) : code;
  } catch (error) {
    return report(typed === undefined ? "hookline" : `hookline ${typed.command.name}`, error, io);
  }
}

async function runCommand({ command, args }: Typed, io: Io): Promise<ExitCode> {
  const { help, ...values } = parseArguments(args, { ...command.flags, help: { short: "h" } });
  if (help) return print(command.help, io);
  assertGiven(values, command.flags);
  return command.run(values, io);
}

async function runMain([word, ...rest]: readonly string[], io: Io): Promise<ExitCode> {
  switch (word) {
    case "--version":
    case "-v":
      return print(`${version()}\n`, io);
    case "--help":
    case "-h":
      return print(mainHelp(COMMANDS), io);
    case "help":
      return print(rest[0] === undefined ? mainHelp(COMMANDS) : helpOf(rest), io);
    default:
      throw unknown(word);
  }
}

function helpOf(words: readonly string[]): string {
  const typed = findCommand(words, ALL);
  if (typed === undefined || typed.args.length > 0) throw unknown(words.join(" "));
  return typed.command.help;
}

function unknown(word: string | undefined): CommandError {
  const what =
    word === undefined ? "The command is missing" : `There is no ${word.startsWith("-") ? "flag" : "command"} ${word}`;
  const words = [...COMMANDS.map(({ name }) => name), "help", "--help", "--version"];
  return new CommandError(EXIT.usage, `${what}. Allowed: ${words.join(", ")}.`);
}

function print(text: string, { stdout }: Pick<Io, "stdout">): ExitCode {
  stdout.write(text);
  return EXIT.done;
}

/** @throws CommandError when not all could be printed, but for a reader that left */
async function printed({ stdout }: Pick<Io, "stdout">): Promise<ExitCode> {
  if (stdout.writableLength > 0) await new Promise((resolve) => stdout.write("", resolve));
  return stdout.errored === null ? EXIT.done : endedWithoutReader(stdout.errored);
}

function report(typed: string, error: unknown, { stderr }: Pick<Io, "stderr">): ExitCode {
  if (error instanceof CommandError) {
    stderr.write(`${typed}: ${error.message}\n`);
    if (error.exitCode === EXIT.usage) stderr.write(`See ${typed} --help.\n`);
    return error.exitCode;
  }
  // Of anything else the place is wanted too: nobody foresaw it.
  stderr.write(`${typed}: ${isHooklineError(error) || !(error instanceof Error) ? String(error) : error.stack}\n`);
  return EXIT.failed;
}

/** By the package's own name: the sources and what is built of them lie at different depths. */
function version(): string {
  return (createRequire(import.meta.url)("hookline/package.json") as { readonly version: string }).version;
}
