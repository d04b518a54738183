import type { FaultKind } from "./faults.ts";

/** One attempt to deliver, as it ended. */
export interface Attempt {
  readonly subscription: number;
  /** The delivery, whose attempts have the same number. */
  readonly delivery: number;
  /** From 1. */
  readonly attempt: number;
  /** When it began, by the emulator's clock. */
  readonly at: Date;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Undefined where no answer came, or it was lost. */
  readonly status: number | undefined;
  /** Also when it was lost. */
  readonly answer?: Answer | undefined;
  /** Why there is no status. */
  readonly failure?: string | undefined;
  /** What the emulator did wrong on purpose. */
  readonly fault?: FaultKind | undefined;
  /** `acknowledged` after 200, `unsubscribed` after 422, `ignored` for a replayed request or a subscription that is gone. @see protocol 6.3 */
  readonly outcome: "acknowledged" | "unsubscribed" | "redelivery" | "given-up" | "ignored";
  /** Of a redelivery. */
  readonly nextAttemptAt?: Date | undefined;
  /** Real time until the answer, milliseconds. */
  readonly durationMs: number;
}

/** What a receiver answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Its first 64 KiB. */
  readonly body: string;
}

/** The latest attempts. */
export interface Journal {
  add(attempt: Attempt): void;
  readonly attempts: readonly Attempt[];
  /** Those included that are no longer in it. */
  readonly total: number;
  clear(): void;
}

const MAX_ATTEMPTS = 10_000;
/** Of requests and answers. Batches of 30,000 entries have a megabyte each: they would fill the memory long before the number of attempts does. */
const MAX_CHARACTERS = 64 * 1024 ** 2;

export function createJournal(onAttempt: (attempt: Attempt) => void): Journal {
  const attempts: Attempt[] = [];
  let characters = 0;
  let total = 0;
  return {
    add(attempt) {
      attempts.push(attempt);
      characters += charactersOf(attempt);
      total += 1;
      let leaving = 0;
      while (
        attempts.length - leaving > MAX_ATTEMPTS ||
        (characters > MAX_CHARACTERS && leaving < attempts.length - 1)
      ) {
        characters -= charactersOf(attempts[leaving]);
        leaving += 1;
      }
      if (leaving > 0) attempts.splice(0, leaving);
      onAttempt(attempt);
    },
    get attempts() {
      return attempts.slice();
    },
    get total() {
      return total;
    },
    clear() {
      attempts.length = characters = total = 0;
    },
  };
}

function charactersOf(attempt: Attempt | undefined): number {
  return (attempt?.body.length ?? 0) + (attempt?.answer?.body.length ?? 0);
}
