import type { Readiness } from "../../inbox/port/inbox-stats.ts";
import type { WritingInbox } from "../../inbox/port/inbox.ts";
import type { InFlightBytes } from "../../ingest/in-flight-bytes.ts";
import type { SecretLookup } from "../../ingest/secret-lookup.ts";
import type { Opening } from "../open-inbox.ts";
import type { ReceiverStates } from "../receiver-states.ts";
import { detailOf, toProblem, type Problem } from "./problem.ts";
import type { ProblemCode } from "./problem-catalog.ts";

export interface ReceivingState {
  readonly states: Pick<ReceiverStates, "isClosing">;
  readonly secrets: Pick<SecretLookup, "assert">;
  readonly opening: Pick<Opening, "isOpen" | "failure">;
  readonly inbox: Pick<WritingInbox, "ready">;
  readonly intake: Pick<InFlightBytes, "isFull">;
}

/** Why the next delivery would get 503; empty where nothing says so. */
export function whyNotReady({ states, secrets, opening, inbox, intake }: ReceivingState): readonly Problem[] {
  // Once it closes, nothing else matters: its inbox is closed as well.
  if (states.isClosing) return [toProblem("closing")];
  return [
    ...secretProblems(secrets),
    ...(opening.isOpen() ? inboxProblems(inbox) : openingProblems(opening)),
    ...(intake.isFull ? [toProblem("intake-full", { got: "It is so now." })] : []),
  ];
}

function secretProblems(secrets: ReceivingState["secrets"]): readonly Problem[] {
  try {
    secrets.assert();
    return [];
  } catch {
    return [toProblem("secret-missing")];
  }
}

function openingProblems(opening: ReceivingState["opening"]): readonly Problem[] {
  const failure = opening.failure();
  return [failure === undefined ? toProblem("inbox-opening") : toProblem("inbox-unavailable", detailOf(failure.error))];
}

function inboxProblems(inbox: ReceivingState["inbox"]): readonly Problem[] {
  try {
    const readiness = inbox.ready();
    if (readiness.ready) return [];
    return [toInboxProblem(readiness)];
  } catch (error) {
    return [toProblem("inbox-not-ready", detailOf(error))];
  }
}

function toInboxProblem({ error, hopeless = false }: Extract<Readiness, { readonly ready: false }>): Problem {
  if (hopeless) return toProblem("inbox-hopeless", { got: detailOf(error).got });
  if (error.code === "inbox-full") return toProblem("inbox-full");
  return toProblem(OF_THE_DISK[error.code] ?? "inbox-not-ready", detailOf(error));
}

/** What an inbox on a disk says of it. */
const OF_THE_DISK: Readonly<Record<string, ProblemCode>> = {
  "disk-low": "disk-low",
  "disk-full": "disk-full",
  "file-corrupt": "inbox-corrupt",
};
