import { fixOf } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Observers } from "../observe/observers.ts";
import { tally, type Counters } from "../observe/counters.ts";
import { REFUSALS, type Refused } from "./refusals.ts";
import type { Verified } from "./types.ts";
import type { Decision } from "./unsubscribe-gate.ts";

/** Counts and logs requests, and notifies observers. Never with a secret, a signature, a token, or content. */
export interface Reporter {
  /** Every answer. @param startedAt by `performance.now()` @param code of a refusal */
  answered(status: number, startedAt: number, code?: string): void;
  refused(refused: Refused, status: number): void;
  /** A signature was made with this key. */
  signedBy(name: string, at: number): void;
  unwanted(verified: Verified, decision: Decision): void;
  /** A parser ran before the mount, but the bytes survived. */
  parsedBefore(fix: string): void;
  secrets(): readonly { readonly name: string; readonly uses: number; readonly lastUsedAt?: Date }[];
}

export function createReporter({
  counters,
  log,
  observers,
}: {
  readonly counters: Counters;
  /** Throttled: an unauthenticated client can cause each of its lines. */
  readonly log: Logger;
  readonly observers: Observers;
}): Reporter {
  const secrets = new Map<string, { uses: number; lastUsedAt: number }>();
  const warned = new Set<string>();

  return {
    answered(status, startedAt, code) {
      tally(counters.answered, status);
      const durationMs = performance.now() - startedAt;
      observers.notify("answered", () => ({ status, ...(code && { code }), durationMs }));
    },
    refused({ code, cause }, status) {
      const { level, message, fix } = REFUSALS[code];
      tally(counters.refused, code);
      observers.notify("refused", () => ({ status, code }));
      // The cause may have an exact fix, such as the change for this framework.
      log[level]({ code, status, fix: fixOf(cause) ?? fix, ...(cause === undefined ? {} : { err: cause }) }, message);
    },
    signedBy(name, at) {
      const secret = secrets.get(name);
      if (secret === undefined) {
        secrets.set(name, { uses: 1, lastUsedAt: at });
        return;
      }
      secret.uses += 1;
      secret.lastUsedAt = at;
    },
    unwanted({ delivery, document }, { reason }) {
      const subscription = document().envelope?.subscription;
      const facts = { code: "unwanted", status: 422, subscription, source: delivery.source, reason };
      log.warn(facts, "a subscription is unwanted: 422 deletes it");
      if (subscription !== undefined) observers.notify("unsubscribed", () => ({ subscription, reason }));
    },
    parsedBefore(fix) {
      if (warned.has(fix)) return;
      warned.add(fix);
      log.warn({ code: "parsed-before", fix }, "a parser read the body before Hookline; its bytes survived");
    },
    secrets: () =>
      [...secrets].map(([name, { uses, lastUsedAt }]) => ({ name, uses, lastUsedAt: new Date(lastUsedAt) })),
  };
}
