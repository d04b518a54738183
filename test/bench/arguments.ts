import { parseArgs } from "node:util";
import { CONTENDERS } from "./contenders.ts";
import { Problem } from "./problem.ts";

/** What the bench is asked to do. */
export interface Arguments {
  readonly help: boolean;
  /** Under a minute, and rougher. */
  readonly quick: boolean;
  readonly rounds: number;
  /** Names of contenders; undefined for all. */
  readonly only: readonly string[] | undefined;
  /** Where the figures go; undefined for a file of its own in the temporary folder. */
  readonly json: string | undefined;
}

/** A median of fewer says nothing. */
const LEAST_ROUNDS = 3;

export const HELP = `How many requests a receiver takes, beside what others take.

Usage: npm run bench -- [flags]

Flags:
  --quick        Under a minute, and rougher.
  --only NAME    One contender, or several by commas. What its ratio is of runs too.
  --rounds N     How often each is measured, at least ${LEAST_ROUNDS}. Default: ${LEAST_ROUNDS}.
  --json FILE    Where the figures go. Default: a file in the temporary folder.
  --help         Print this.

Contenders: ${CONTENDERS.map(({ name }) => name).join(", ")}.
`;

/** @throws Problem that names the flag */
export function parseArguments(args: readonly string[]): Arguments {
  const { help = false, quick = false, rounds, only, json } = read(args);
  return {
    help,
    quick,
    rounds: rounds === undefined ? LEAST_ROUNDS : toRounds(rounds),
    only: only?.flatMap((names) => names.split(",")).map(toName),
    json: json === undefined ? undefined : toFile(json),
  };
}

function read(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean" },
        quick: { type: "boolean" },
        rounds: { type: "string" },
        only: { type: "string", multiple: true },
        json: { type: "string" },
      },
    }).values;
  } catch (error) {
    // Node's message names the flag.
    throw new Problem(`${(error as Error).message}\nnpm run bench -- --help lists the flags.`);
  }
}

function toRounds(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= LEAST_ROUNDS) return Number(text);
  throw new Problem(`--rounds got "${text}", expected a whole number from ${LEAST_ROUNDS} on.`);
}

function toName(text: string): string {
  if (CONTENDERS.some(({ name }) => name === text)) return text;
  throw new Problem(`--only got "${text}", expected one of ${CONTENDERS.map(({ name }) => name).join(", ")}.`);
}

function toFile(text: string): string {
  if (text !== "") return text;
  throw new Problem("--json got an empty text, expected a file's name.");
}
