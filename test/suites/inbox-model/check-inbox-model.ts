import fc from "fast-check";
import { AssertionError } from "node:assert/strict";
import type { InboxSubject } from "../inbox/inbox-subject.ts";
import { walk } from "./run-model.ts";
import type { Step } from "./steps.ts";
import { walksOf } from "./steps.ts";

/** How long to look, and where to begin. */
export interface InboxModelOptions {
  /** Walks. @default 300 */
  readonly runs?: number | undefined;
  /** Steps in a walk, at most. @default 60 */
  readonly steps?: number | undefined;
  /** The same seed makes the same walks. @default another one each time; a failure says which */
  readonly seed?: number | undefined;
  /** Whether a walk that fails is made as short as it can be, by many others. @default true */
  readonly shrink?: boolean | undefined;
  /** The one walk that failed, as the failure says. */
  readonly path?: string | undefined;
}

/**
 * Walks at random through everything that can be done to an inbox, with a clock that also jumps back and a process that
 * dies, and compares it after each step with the port said in plain arrays. What differs is shrunk to the shortest walk that
 * shows it; the failure lists its steps and how to repeat it.
 *
 * Without `crash` in the subject nothing dies.
 * @throws AssertionError where the inbox is not what the port says
 * @example
 * test("is what the port says", () => checkInboxModel({ make: () => memoryInbox() }), 60_000);
 */
export async function checkInboxModel(subject: InboxSubject, options: InboxModelOptions = {}): Promise<void> {
  const { runs = 300, steps = 60, shrink = true, seed, path } = options;
  const property = fc.asyncProperty(walksOf(steps), (walked) => walk(subject, walked));
  const failure = await fc.check(property, {
    numRuns: path === undefined ? runs : 1,
    endOnFailure: !shrink,
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
  });
  if (!failure.failed) return;
  const [walked] = failure.counterexample ?? [[]];
  const repeat = JSON.stringify({ seed: failure.seed, path: failure.counterexamplePath, steps });
  throw differs(walked, repeat, failure.errorInstance);
}

function differs(walked: readonly Step[], repeat: string, error: unknown): AssertionError {
  const { message, actual, expected } = error as Partial<AssertionError>;
  const list = walked.map((step, index) => `  ${index + 1}. ${sentenceOf(step)}`);
  const failure = new AssertionError({
    message: [
      `The inbox is not what the port says: ${message ?? String(error)}`,
      `Repeat it: checkInboxModel(subject, ${repeat})`,
      "The steps before it:",
      ...list,
    ].join("\n"),
    actual,
    expected,
  });
  failure.cause = error;
  return failure;
}

function sentenceOf({ do: what, ...rest }: Step): string {
  return Object.keys(rest).length === 0 ? what : `${what} ${JSON.stringify(rest)}`;
}
