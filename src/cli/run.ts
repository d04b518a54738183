import { isHooklineError } from "../errors.ts";
import { HELP_FLAG, parseArguments, tokensOf } from "./arguments.ts";
import { CommandError, EXIT, type Command, type ExitCode, type Io } from "./command.ts";
import { commandHelp, mainHelp } from "./help.ts";
import { exitCodeOf } from "./terminal/printer.ts";
import { tooOldNode, version } from "./version.ts";

/**
 * By their first word, in the order of the help; the command of that word alone is first. Only what is called is loaded: a container's health
 * check starts a `hookline probe` every few seconds.
 */
const COMMANDS = new Map<string, () => Promise<readonly Command[]>>([
  ["dev", async () => [(await import("./dev.ts")).dev]],
  ["serve", async () => [(await import("./serve.ts")).serve]],
  ["probe", async () => [(await import("./probe.ts")).probe]],
  ["send", async () => [(await import("./send.ts")).send]],
  [
    "emulator",
    async () => [(await import("./emulator.ts")).emulator, (await import("./emulator/load.ts")).emulatorLoad],
  ],
  ["check", async () => [(await import("./check.ts")).check]],
  ["explain", async () => [(await import("./explain.ts")).explainCommand]],
  [
    "subscriptions",
    async () => {
      const { subscriptionsCommand, SUBSCRIPTIONS_COMMANDS } =
        await import("./subscriptions/subscriptions-commands.ts");
      return [subscriptionsCommand, ...SUBSCRIPTIONS_COMMANDS];
    },
  ],
  [
    "inbox",
    async () => {
      const { INBOX_COMMANDS, inboxCommand } = await import("./inbox/inbox-commands.ts");
      return [inboxCommand, ...INBOX_COMMANDS];
    },
  ],
]);

/**
 * The program: finds the command, parses its flags, runs it. Never rejects: an error becomes a sentence on stderr and an
 * exit code.
 *
 * @param args without Node and the program's file
 */
export async function run(args: readonly string[], io: Io): Promise<number> {
  // A closed pipe must not end the process half-way.
  io.stdout.on("error", () => {});
  io.stderr.on("error", () => {});
  let found: FoundCommand | undefined;
  try {
    const problem = tooOldNode(process.versions.node);
    if (problem !== undefined) throw new CommandError(EXIT.failed, problem);
    found = await findCommand(args);
    const code = await (found === undefined ? runMain(args, io) : runCommand(found, io));
    return code === EXIT.done ? await flushed(io) : code;
  } catch (error) {
    return report(found === undefined ? "hookline" : `hookline ${found.command.name}`, error, io);
  }
}

interface FoundCommand {
  readonly command: Command;
  /** Without the words that name the command. */
  readonly args: readonly string[];
}

/** The command with the longest name that fits; flags may stand between its words. */
async function findCommand(args: readonly string[]): Promise<FoundCommand | undefined> {
  const candidates = (await COMMANDS.get(args[0] ?? "")?.()) ?? [];
  const flags = Object.assign({}, HELP_FLAG, ...candidates.map((command) => command.flags)) as Command["flags"];
  const words = tokensOf(args, flags).filter(({ kind }) => kind === "positional");
  const typed = words.map(({ index }) => args[index]).join(" ");
  const command =
    candidates.find(({ alias }) => alias === typed) ??
    candidates.toSorted((a, b) => b.name.length - a.name.length).find(({ name }) => `${typed} `.startsWith(`${name} `));
  if (command === undefined) return undefined;
  const { length } = (command.alias === typed ? typed : command.name).split(" ");
  const taken = new Set(words.slice(0, length).map(({ index }) => index));
  return { command, args: args.filter((_, index) => !taken.has(index)) };
}

async function runCommand({ command, args }: FoundCommand, io: Io): Promise<number> {
  const { help, ...values } = parseArguments(args, { ...command.flags, ...HELP_FLAG });
  return help ? print(commandHelp(command), io) : command.run(values, io);
}

async function runMain([word, ...rest]: readonly string[], io: Io): Promise<ExitCode> {
  switch (word) {
    case "--version":
    case "-v":
      return print(`${version()}\n`, io);
    case "--help":
    case "-h":
      return print(await helpOf([]), io);
    case "help":
      return print(await helpOf(rest), io);
    default:
      throw unknown(word);
  }
}

async function helpOf(words: readonly string[]): Promise<string> {
  if (words.length === 0) {
    const all = await Promise.all([...COMMANDS.values()].map((load) => load()));
    return mainHelp(all.flatMap((commands) => commands.slice(0, 1)));
  }
  const found = await findCommand(words);
  if (found === undefined || found.args.length > 0) throw unknown(words.join(" "));
  return commandHelp(found.command);
}

function unknown(word: string | undefined): CommandError {
  const what =
    word === undefined ? "The command is missing" : `There is no ${word.startsWith("-") ? "flag" : "command"} ${word}`;
  const words = [...COMMANDS.keys(), "help", "--help", "--version"];
  return new CommandError(EXIT.usage, `${what}. Allowed: ${words.join(", ")}.`);
}

function print(text: string, { stdout }: Pick<Io, "stdout">): ExitCode {
  stdout.write(text);
  return EXIT.done;
}

/** @throws CommandError when stdout failed; a reader that closed the pipe is no failure */
async function flushed({ stdout }: Pick<Io, "stdout">): Promise<ExitCode> {
  if (stdout.writableLength > 0) await new Promise((resolve) => stdout.write("", resolve));
  return stdout.errored === null ? EXIT.done : exitCodeOf(stdout.errored);
}

function report(name: string, error: unknown, { stderr }: Pick<Io, "stderr">): ExitCode {
  if (error instanceof CommandError) {
    stderr.write(`${name}: ${error.message}\n`);
    if (error.exitCode === EXIT.usage) stderr.write(`See ${name} --help.\n`);
    return error.exitCode;
  }
  // An error of ours says enough; of any other the stack is needed.
  stderr.write(`${name}: ${isHooklineError(error) || !(error instanceof Error) ? String(error) : error.stack}\n`);
  return EXIT.failed;
}
