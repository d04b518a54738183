import { parseArgs } from "node:util";
import { optionsOf, type Flags } from "./arguments.ts";
import type { Command } from "./command.ts";

/** What was typed: a command, and what is left without the words that name it. */
export interface Typed {
  readonly command: Command;
  readonly args: readonly string[];
}

/** The command of several words that fits best, whatever flags stand between them; `undefined` where none comes first. */
export function findCommand(args: readonly string[], commands: readonly Command[]): Typed | undefined {
  const akin = commands.filter(({ name }) => name.split(" ")[0] === args[0]);
  const words = wordsIn(args, akin);
  const typed = words.map((at) => args[at]);
  const short = akin.find(({ alias }) => alias === typed.join(" "));
  const command = short ?? akin.toSorted((a, b) => lengthOf(b) - lengthOf(a)).find(({ name }) => begins(typed, name));
  if (command === undefined) return undefined;
  const taken = new Set(short === undefined ? words.slice(0, lengthOf(command)) : words);
  return { command, args: args.filter((_, at) => !taken.has(at)) };
}

function lengthOf({ name }: Command): number {
  return name.split(" ").length;
}

function begins(typed: readonly unknown[], name: string): boolean {
  return name.split(" ").every((word, at) => word === typed[at]);
}

/** Where the arguments stand that are neither flags nor their values. */
function wordsIn(args: readonly string[], commands: readonly Command[]): readonly number[] {
  const flags: Flags = Object.assign({ help: { short: "h" } }, ...commands.map((command) => command.flags));
  const { tokens } = parseArgs({ args: [...args], options: optionsOf(flags), strict: false, tokens: true });
  return tokens.filter(({ kind }) => kind === "positional").map(({ index }) => index);
}
