import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fastTmpdir } from "../support/fast-tmpdir.ts";
import { hold } from "./check-log.ts";
import { readChronicle, type Dated } from "./event-log.ts";
import { createDice } from "./random.ts";
import { findIn } from "./read-file.ts";

/** How a world of children went. */
export interface ChildrenOutcome {
  readonly seed: number;
  readonly lines: readonly Dated[];
  /** The rules that do not hold. */
  readonly broken: readonly string[];
}

/** A process is killed so long after it is ready, at most. */
const MOST_MS = 400;
const START = Date.parse("2026-05-06T07:08:09Z");

/** Lets processes work on a file one after another, kills each, and holds what they said against what is in the file. */
export async function runChildren(seed: number, deaths: number): Promise<ChildrenOutcome> {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
  const file = join(folder, "inbox.db");
  const ledger = join(folder, "ledger");
  const dice = createDice(seed);
  let at = START;

  async function bear(number: number, ...calm: readonly string[]): Promise<ChildProcess> {
    const args = [
      join(import.meta.dirname, "child-process.ts"),
      file,
      ledger,
      String(seed),
      String(number),
      String(at),
      ...calm,
    ];
    const child = spawn(process.execPath, ["--conditions=hookline-source", ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (calm.length === 0) await Promise.race([once(child.stdout ?? child, "data"), once(child, "close")]);
    return child;
  }

  try {
    for (let number = 1; number <= deaths; number += 1) {
      const child = await bear(number);
      const timer = setTimeout(() => child.kill("SIGKILL"), dice.int(0, MOST_MS));
      await ended(child);
      clearTimeout(timer);
      at = (readChronicle(ledger).at(-1)?.at ?? at) + dice.pick([1, 1_000, 600_000]);
    }
    const code = await ended(await bear(deaths + 1, "calm"));
    const lines = readChronicle(ledger);
    const late = code === 0 ? [] : [`everything comes to its end: the last process ended with ${code}`];
    return { seed, lines, broken: [...late, ...hold(lines, { seed, found: await findIn(file) })] };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}
