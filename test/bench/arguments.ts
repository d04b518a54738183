import { parseArgs } from "node:util";
import { CONTENDERS, MOUNTS } from "./contenders.ts";
import { DURABLE, PEERS } from "./durable/rows.ts";
import { MEASURES } from "./measures.ts";
import { POSTGRES_ROWS } from "./postgres/rows.ts";

/** Why the bench cannot run, with what to do. It is printed without a stack. */
export class BenchError extends Error {}

/** The command line of the bench. */
export interface Arguments {
  readonly help: boolean;
  /** Takes less than a minute, and is less precise. */
  readonly quick: boolean;
  readonly rounds: number;
  /** Names of contenders and of measures; undefined for all. */
  readonly only: readonly string[] | undefined;
  /** The output file; undefined for a new file in the temporary folder. */
  readonly json: string | undefined;
  /** A page whose table is printed with this run's figures in its last column. */
  readonly page: string | undefined;
}

/** A median of fewer rounds is meaningless. */
const LEAST_ROUNDS = 3;

const SETS = {
  requests: CONTENDERS.map(({ name }) => name),
  mounts: ["node", "express", "koa", ...MOUNTS.map(({ name }) => name)],
  durable: DURABLE.map(({ name }) => name),
  peers: PEERS.map(({ name }) => name),
  jobs: MEASURES.map(({ name }) => name),
  postgres: POSTGRES_ROWS.map(({ name }) => name),
  sqlite: [...DURABLE, ...MEASURES.filter(({ inbox }) => inbox === "sqlite")].map(({ name }) => name),
} satisfies Record<string, readonly string[]>;

export const HELP = `Compares requests/s with other receivers, and measures jobs/s.

Usage: npm run bench -- [flags]

Flags:
  --quick        Less than a minute, and less precise: the requests, unless --only is given.
  --only NAME    One of the names below, or several by commas. Its baseline runs too.
  --rounds N     Number of measurements of each, at least ${LEAST_ROUNDS}. Default: ${LEAST_ROUNDS}. What stores on disk has slices instead.
  --json FILE    The output file. Default: a file in the temporary folder.
  --page FILE    Prints the table of this page with the figures in its last column, such as docs/benchmarks.md.
  --help         Print this.

${Object.entries(SETS)
  .map(([set, names]) => `${set}: ${names.join(", ")}.`)
  .join("\n")}
`;

/** @throws BenchError that names the flag */
export function parseArguments(args: readonly string[]): Arguments {
  const { help = false, quick = false, rounds, only, json, page } = read(args);
  return {
    help,
    quick,
    rounds: rounds === undefined ? LEAST_ROUNDS : toRounds(rounds),
    only: only?.flatMap((names) => names.split(",")).flatMap(toNames) ?? (quick ? SETS.requests : undefined),
    json: json === undefined ? undefined : toFile("--json", json),
    page: page === undefined ? undefined : toFile("--page", page),
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
        page: { type: "string" },
      },
    }).values;
  } catch (error) {
    // Node's message names the flag.
    throw new BenchError(`${(error as Error).message}\nnpm run bench -- --help lists the flags.`);
  }
}

function toRounds(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= LEAST_ROUNDS) return Number(text);
  throw new BenchError(`--rounds got "${text}", expected a whole number from ${LEAST_ROUNDS} on.`);
}

/** A set stands for all of its names. */
function toNames(text: string): readonly string[] {
  const all = [...new Set(Object.values(SETS).flat())];
  const set = Object.entries(SETS).find(([name]) => name === text);
  if (set !== undefined) return set[1];
  if (all.includes(text)) return [text];
  throw new BenchError(`--only got "${text}", expected one of ${[...all, ...Object.keys(SETS)].join(", ")}.`);
}

function toFile(flag: string, text: string): string {
  if (text !== "") return text;
  throw new BenchError(`${flag} got an empty text, expected a file's name.`);
}
