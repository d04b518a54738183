import { styleText } from "node:util";
import type { Terminal } from "../command.ts";
import { causeOf, meaningOf } from "../answers/status-causes.ts";
import { statusText } from "./report.ts";
import type { Tally } from "./tally.ts";
import { duration, grouped, milliseconds, percentile, perSecond } from "../terminal/format.ts";

/** How many were wanted, and how long it took. */
export interface Course {
  readonly count: number;
  readonly ms: number;
}

/** The table at the end of a run of many, and the likely causes of what is wrong. */
export function reportMany(tally: Tally, { count, ms }: Course, stdout: Terminal): void {
  const { sent, latencies } = tally;
  const rows = rowsOf(tally);
  const width = Math.max(...["latency", ...rows.map(({ what }) => what)].map(({ length }) => length));
  const digits = Math.max(...rows.map(({ number }) => grouped(number).length));
  // Padded before it is coloured: the codes of a colour have a length too.
  const print = (what: string, text: string, colour = what): void =>
    void stdout.write(`${colour}${" ".repeat(width - what.length)}  ${text}\n`);

  print(
    "sent",
    `${grouped(sent)}${sent < count ? ` of ${grouped(count)}` : ""} in ${duration(ms)}, ${perSecond(sent, ms)}`,
  );
  for (const { what, number, meaning, status } of rows) {
    const colour = status === undefined ? styleText("red", what, { stream: stdout }) : statusText(status, stdout);
    print(what, `${grouped(number).padStart(digits)}  ${meaning}`, colour);
  }
  if (latencies.length > 0) print("latency", latencyText(latencies));
  for (const { what, cause } of rows) if (cause !== undefined) stdout.write(`${what}: ${cause}\n`);
}

interface Row {
  readonly what: string;
  readonly number: number;
  readonly meaning: string;
  /** None where there was no answer. */
  readonly status?: number;
  readonly cause?: string | undefined;
}

function rowsOf({ answers, failures, stopped }: Tally): readonly Row[] {
  const rows: Row[] = [...answers]
    .toSorted(([a], [b]) => a - b)
    .map(([status, { count, location }]) => {
      const cause = causeOf({ status, location });
      return { what: String(status), number: count, meaning: meaningOf(status), status, cause };
    });
  for (const { code, words, count } of failures.values()) {
    rows.push({ what: code, number: count, meaning: `no answer: ${words}` });
  }
  if (stopped > 0) rows.push({ what: "stopped", number: stopped, meaning: "no answer yet at the stop" });
  return rows;
}

function latencyText(sorted: readonly number[]): string {
  const shares = [
    ["p50", 0.5],
    ["p95", 0.95],
    ["p99", 0.99],
    ["max", 1],
  ] as const;
  return shares.map(([name, share]) => `${name} ${milliseconds(percentile(sorted, share))}`).join("  ");
}
