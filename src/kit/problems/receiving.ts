import type { WritingInbox } from "../../inbox/port.ts";
import type { SecretLookup } from "../../receiver/ring.ts";
import type { Opening } from "../opening.ts";
import { detailOf, toProblem, type Problem } from "./problem.ts";

export interface ReceivingState {
  /** `receiver.close` was called. */
  readonly closing: () => boolean;
  readonly secrets: Pick<SecretLookup, "assert">;
  readonly opening: Pick<Opening, "isOpen" | "failure">;
  readonly inbox: Pick<WritingInbox, "ready">;
}

/** Why the next delivery would get 503; empty where it would not. */
export function whyNotReady({ closing, secrets, opening, inbox }: ReceivingState): readonly Problem[] {
  // Once it closes, nothing else matters: its inbox is closed as well.
  if (closing()) return [toProblem("closing")];
  return [...secretProblems(secrets), ...(opening.isOpen() ? inboxProblems(inbox) : openingProblems(opening))];
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
    const { error } = readiness;
    return [error.code === "inbox-full" ? toProblem("inbox-full") : toProblem("inbox-not-ready", detailOf(error))];
  } catch (error) {
    return [toProblem("inbox-not-ready", detailOf(error))];
  }
}
