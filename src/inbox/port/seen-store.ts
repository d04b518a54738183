import { kindOf, wholeNumber } from "../../assert.ts";
import { LONGEST_TIMER_MS } from "../../clock.ts";
import { UsageError } from "../../errors.ts";

/**
 * Remembers which events were handled, over processes and redeliveries, for handlers that run without an inbox. It measures time by its own
 * clock, and holds no configuration: what each call needs, it gets.
 */
export interface SeenStore {
  /** Atomic. `mine`: the caller is to handle it, for the time of the lease; `busy`: another one does; `done`: it was handled. */
  claim(key: string, leaseMs: number): Promise<"mine" | "busy" | "done">;
  /** `done`: remember it so long; `failed`: give the own claim back, and no other one. */
  settle(key: string, how: "done" | "failed", keepMs: number): Promise<void>;
}

/** How handlers without an inbox run once across redeliveries. */
export interface SeenOptions {
  /** Where handled events are remembered. @default nowhere: a redelivery runs all handlers again */
  seen?: SeenStore | undefined;
  /**
   * How long a process may take for one event until another one may try, milliseconds. A request with changes is also claimed as a whole, for the
   * mount's `timeoutMs` + `graceMs` + 10_000: after a death they run again only then. @default `timeoutMs` + `graceMs` + 10_000
   */
  leaseMs?: number | undefined;
  /**
   * How long handled events are remembered, milliseconds. Changes that come by a request are forgotten when all of their delivery is
   * handled: an equal one that comes then may be another edit of the same second. @default 691_200_000 (8 days)
   */
  keepMs?: number | undefined;
}

/** Checked options. */
export interface Seen {
  readonly store: SeenStore;
  readonly leaseMs: number | undefined;
  readonly keepMs: number;
}

/** As long as an inbox detects duplicates. */
const KEEP_MS = 8 * 24 * 60 * 60 * 1_000;

/**
 * Undefined without a store.
 *
 * @throws UsageError `option-invalid`
 */
export function toSeen({ seen, leaseMs, keepMs = KEEP_MS }: SeenOptions, where: string): Seen | undefined {
  if (leaseMs !== undefined) wholeNumber({ where, name: "leaseMs", value: leaseMs, least: 1, most: LONGEST_TIMER_MS });
  wholeNumber({ where, name: "keepMs", value: keepMs, least: 1 });
  if (seen === undefined) return undefined;
  if (typeof seen?.claim !== "function" || typeof seen.settle !== "function")
    throw new UsageError(
      "option-invalid",
      `${where} got ${kindOf(seen)} for \`seen\`, expected \`claim\` and \`settle\`.`,
      {
        fix: "Take redisSeen of hookline/redis, pgSeen of hookline/postgres, or a SeenStore of your own.",
      },
    );
  return { store: seen, leaseMs, keepMs };
}
