import { styleText } from "node:util";
import { handshakeFlaws } from "../answers/handshake-flaws.ts";
import type { RequestFailure } from "../answers/request-failure.ts";
import { causeOfStatus, effectOf } from "../answers/status-causes.ts";
import type { Terminal } from "../command.ts";
import { duration, grouped, milliseconds, percentile, perSecond } from "../terminal/format.ts";
import type { Outcome } from "./send-requests.ts";

/**
 * Prints the outcome of one request.
 *
 * @returns whether it was acknowledged
 */
export function reportOne(outcome: Outcome, stdout: Terminal): boolean {
  if (!("status" in outcome)) return reportNoAnswer(outcome, stdout);
  const { status, ms } = outcome;
  stdout.write(`${statusText(status, stdout)} in ${milliseconds(ms)}: ${effectOf(status)}.\n`);
  if (status !== 200) stdout.write(`${causeText(outcome)}\n`);
  return status === 200;
}

/**
 * Prints the outcome of a verification handshake.
 *
 * @returns whether the answer was right
 */
export function reportHandshake(outcome: Outcome, token: string, stdout: Terminal): boolean {
  if (!("status" in outcome)) return reportNoAnswer(outcome, stdout);
  const flaws = handshakeFlaws(outcome, token);
  const result =
    flaws.length === 0 ? "the handshake is right" : "the handshake is wrong, so the subscription would not be made";
  stdout.write(`${statusText(outcome.status, stdout)} in ${milliseconds(outcome.ms)}: ${result}.\n`);
  for (const flaw of flaws) stdout.write(`${flaw}\n`);
  return flaws.length === 0;
}

function reportNoAnswer(outcome: Exclude<Outcome, { readonly status: number }>, stdout: Terminal): false {
  if ("stopped" in outcome) stdout.write("Stopped before there was an answer.\n");
  else {
    const { code, words } = outcome.failure;
    stdout.write(`${styleText("red", "No answer", { stream: stdout })}: ${words} (${code}).\n`);
  }
  return false;
}

function statusText(status: number, stream: Terminal): string {
  return styleText(colourOf(status), String(status), { stream });
}

function colourOf(status: number): "green" | "red" | "yellow" {
  if (status === 200) return "green";
  return status === 422 ? "red" : "yellow";
}

function causeText({ status, location }: { readonly status: number; readonly location: string | undefined }): string {
  const { cause, fix } = causeOfStatus(status, { location });
  return `${cause} ${fix}`;
}

type OutcomeCounts = ReturnType<typeof createOutcomeCounts>;

/** Counts the outcomes of many requests. */
export function createOutcomeCounts() {
  const statuses = new Map<number, { readonly count: number; readonly location: string | undefined }>();
  /** By code. */
  const failures = new Map<string, RequestFailure & { readonly count: number }>();
  /** Of the answers, in the order of arrival. */
  const latenciesMs: number[] = [];
  let sent = 0;
  let stopped = 0;
  return {
    add(outcome: Outcome): void {
      sent += 1;
      if ("stopped" in outcome) stopped += 1;
      else if ("failure" in outcome) {
        const { failure } = outcome;
        failures.set(failure.code, { ...failure, count: (failures.get(failure.code)?.count ?? 0) + 1 });
      } else {
        const { status, location, ms } = outcome;
        latenciesMs.push(ms);
        const known = statuses.get(status);
        statuses.set(status, { count: (known?.count ?? 0) + 1, location: known?.location ?? location });
      }
    },
    /** Requests that ended, also without an answer. */
    sent: () => sent,
    /** Those of them that were not answered 200. */
    unacknowledged: () => sent - (statuses.get(200)?.count ?? 0),
    statuses,
    failures,
    /** Requests without an answer when the run was stopped. */
    stopped: () => stopped,
    latenciesMs,
  };
}

/** Prints a table of many outcomes, and the likely causes of what is wrong. */
export function reportMany(
  counts: OutcomeCounts,
  { count, ms }: { readonly count: number; readonly ms: number },
  stdout: Terminal,
): void {
  const sent = counts.sent();
  const rows = rowsOf(counts);
  const width = Math.max(...["latency", ...rows.map(({ name }) => name)].map(({ length }) => length));
  const digits = Math.max(...rows.map((row) => grouped(row.count).length));
  // Padded before it is coloured: the codes of a colour have a length too.
  const print = (name: string, text: string, coloured = name): void =>
    void stdout.write(`${coloured}${" ".repeat(width - name.length)}  ${text}\n`);

  const of = sent < count ? ` of ${grouped(count)}` : "";
  print("sent", `${grouped(sent)}${of} in ${duration(ms)}, ${perSecond(sent, ms)}`);
  for (const { name, count: number, meaning, colour } of rows)
    print(name, `${grouped(number).padStart(digits)}  ${meaning}`, styleText(colour, name, { stream: stdout }));
  if (counts.latenciesMs.length > 0) print("latency", latencyText(counts.latenciesMs));
  for (const { name, cause } of rows) if (cause !== undefined) stdout.write(`${name}: ${cause}\n`);
}

function rowsOf({ statuses, failures, stopped }: OutcomeCounts) {
  const answered = [...statuses]
    .toSorted(([a], [b]) => a - b)
    .map(([status, { count, location }]) => {
      const cause = status === 200 ? undefined : causeText({ status, location });
      return { name: String(status), count, meaning: effectOf(status), colour: colourOf(status), cause };
    });
  return [
    ...answered,
    ...[...failures.values()].map(({ code, words, count }) => unansweredRow(code, count, `no answer: ${words}`)),
    ...(stopped() > 0 ? [unansweredRow("stopped", stopped(), "no answer yet at the stop")] : []),
  ];
}

function unansweredRow(name: string, count: number, meaning: string) {
  return { name, count, meaning, colour: "red" as const, cause: undefined };
}

function latencyText(latenciesMs: readonly number[]): string {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const shares = { p50: 0.5, p95: 0.95, p99: 0.99, max: 1 };
  return Object.entries(shares)
    .map(([name, share]) => `${name} ${milliseconds(percentile(sorted, share))}`)
    .join("  ");
}
