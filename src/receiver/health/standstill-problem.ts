import type { Standstill } from "../../inbox/standstill-watch.ts";
import { isHooklineError } from "../../errors.ts";
import { describeThrown } from "../../thrown.ts";
import { detailOf, toProblem, type Problem } from "./problem-catalog.ts";

/** After so many seconds without progress, and without an answer, a restart is asked for. */
const RESTART_S = 60;

const DONE: Readonly<Record<Standstill["step"], string>> = {
  store: "stored",
  expand: "expanded",
  claim: "started",
  settle: "settled",
  complete: "settled",
  reopen: "reopened",
  unsubscribe: "unsubscribed",
};

/** The inbox does not move, as the process sees it from outside. */
export function checkStandstill(standstill: Standstill | undefined): readonly Problem[] {
  if (standstill === undefined) return [];
  const { step, of, seconds, cause } = standstill;
  const what = of === undefined ? `Nothing was ${DONE[step]}` : `${of} was not ${DONE[step]}`;
  const { detail = causeOf(cause), fix } = detailOf(cause);
  return [toProblem("no-progress", { detail: `${what} for ${seconds} s: ${detail}`, fix })];
}

/** Other errors' texts may hold addresses, and belong in the log. */
function causeOf(cause: unknown): string {
  if (cause === undefined) return "the inbox gives no answer.";
  return `${describeThrown(cause).name}, see the log.`;
}

/** Where the inbox itself says why it cannot store, a restart cannot help: it would only end handlers that run. */
const NOT_BY_RESTART: ReadonlySet<string> = new Set(["disk-full", "inbox-corrupt", "inbox-not-ready"]);

/**
 * Only where the inbox gives no answer, or nothing: an error that it answers with comes again after a restart.
 * @param problems why the next delivery would get 503
 */
export function needsRestart(standstill: Standstill | undefined, problems: readonly Problem[]): boolean {
  // A restart would also end what goes on beside the one that does not.
  if (standstill === undefined || standstill.of !== undefined || standstill.seconds < RESTART_S) return false;
  const { cause } = standstill;
  const isSilent =
    cause === undefined || isHooklineError(cause, "inbox-hung") || isHooklineError(cause, "inbox-withholds");
  return isSilent && problems.every(({ code }) => !NOT_BY_RESTART.has(code));
}
