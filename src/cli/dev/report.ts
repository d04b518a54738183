import { styleText } from "node:util";
import type { Io } from "../command.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { grouped, milliseconds, secondText } from "../terminal/format.ts";
import { showLiveLine } from "../terminal/live-line.ts";
import type { Passed } from "./pass-through.ts";

/** Span of the rate in the summary. */
const RATE_MS = 10_000;

/**
 * Prints a line for each delivery on stdout, and everything else on stderr. On a terminal a summary stays at the bottom.
 *
 * @param waiting how many deliveries the app has not accepted yet
 */
export function createReport({ stdout, stderr }: Pick<Io, "stdout" | "stderr">, json: boolean, waiting: () => number) {
  const statuses = new Map<string, number>();
  const recent: number[] = [];

  function summary(): string {
    const now = performance.now();
    while (recent[0] !== undefined && recent[0] < now - RATE_MS) recent.shift();
    const counts = [...statuses]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([status, count]) => `${status} x${grouped(count)}`);
    const rate = grouped(recent.length / (RATE_MS / 1_000));
    return [`${rate} per second`, ...counts, `${waiting()} waiting`].join("  |  ");
  }

  const live = json ? undefined : showLiveLine(stdout, summary);
  const above = live?.above ?? ((write: () => void): void => write());
  return {
    /** One request to the app. */
    passed(one: Passed): void {
      const status = one.status === undefined ? "none" : String(one.status);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      recent.push(performance.now());
      const causes = one.causes.flatMap(({ code, message, fix }) => [`  ${code}: ${message}`, `  Fix: ${fix}`]);
      const lines = json ? [toJsonLine(one)] : [lineOf(one, stdout), ...causes];
      above(() => void stdout.write(lines.map((line) => `${line}\n`).join("")));
    },
    /** Anything else that happens. */
    note: (text: string): void => above(() => void stderr.write(`${text}\n`)),
    end: (): void => live?.remove(),
  };
}

function lineOf(one: Passed, stream: Io["stdout"]): string {
  const { at, path, events, status, answered, ms, againInSeconds } = one;
  const groups = [...Map.groupBy(events, (name) => name)];
  const names = groups.map(([name, { length }]) => (length === 1 ? name : `${name} x${grouped(length)}`));
  const time = stream.isTTY === true ? at.toLocaleTimeString("en-GB") : secondText(at);
  const colour = status === 200 ? "green" : status === undefined || status === 422 ? "red" : "yellow";
  const changed = status === answered || againInSeconds !== undefined ? "" : `, answered ${answered}`;
  const again = againInSeconds === undefined ? "" : `, held: again in ${againInSeconds} s`;
  return [
    styleText("dim", time, { stream }),
    styleText(colour, status === undefined ? "---" : String(status), { stream }),
    milliseconds(ms).padStart("10,000 ms".length),
    toPlain(path),
    `${names.join(", ")}${changed}${again}`,
  ].join("  ");
}
