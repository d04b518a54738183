import { styleText } from "node:util";
import type { Terminal } from "../command.ts";
import { handshakeFlaws } from "../answers/handshake-flaws.ts";
import { causeOf, meaningOf } from "../answers/status-causes.ts";
import type { Outcome } from "./post.ts";
import { milliseconds } from "../terminal/format.ts";

/**
 * Tells what became of one request.
 *
 * @returns whether all is well
 */
export function reportOne(outcome: Outcome, stdout: Terminal): boolean {
  if (!("status" in outcome)) return reportNone(outcome, stdout);
  const { status, ms } = outcome;
  stdout.write(`${statusText(status, stdout)} in ${milliseconds(ms)}: ${meaningOf(status)}.\n`);
  const cause = causeOf(outcome);
  if (cause !== undefined) stdout.write(`${cause}\n`);
  return status === 200;
}

/**
 * Tells what became of a verification handshake.
 *
 * @returns whether it was answered as it must be
 */
export function reportHandshake(outcome: Outcome, token: string, stdout: Terminal): boolean {
  if (!("status" in outcome)) return reportNone(outcome, stdout);
  const flaws = handshakeFlaws(outcome, token);
  const what =
    flaws.length === 0 ? "the handshake is right" : "the handshake is wrong, so the subscription would not be made";
  stdout.write(`${statusText(outcome.status, stdout)} in ${milliseconds(outcome.ms)}: ${what}.\n`);
  for (const flaw of flaws) stdout.write(`${flaw}\n`);
  return flaws.length === 0;
}

/** A status in the colour of what it means. */
export function statusText(status: number, stream: Terminal): string {
  if (status === 200) return styleText("green", "200", { stream });
  return styleText(status === 422 ? "red" : "yellow", String(status), { stream });
}

function reportNone(outcome: Exclude<Outcome, { readonly status: number }>, stdout: Terminal): false {
  if ("stopped" in outcome) stdout.write("Stopped before there was an answer.\n");
  else {
    const { code, words } = outcome.failure;
    stdout.write(`${styleText("red", "No answer", { stream: stdout })}: ${words} (${code}).\n`);
  }
  return false;
}
