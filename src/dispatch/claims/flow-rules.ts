import { LOOK_AGAIN_MS, type Timer } from "../../clock.ts";
import { listOf, pausedBy, toPause } from "../../inbox/pauses.ts";
import type { Claim, ClaimRules } from "../../inbox/port/claims.ts";
import type { Pause, Pauses } from "../../inbox/port/pauses.ts";
import { catchRejection } from "../../thrown.ts";
import { accountOf } from "../calls/job-view.ts";
import type { DispatchDeps } from "../dispatch-deps.ts";

/** What keeps jobs of this process from starting, beside slots: pauses, and delays of accounts. */
export interface FlowRules extends ClaimRules {
  /** Looks at what has changed. @returns whether something is held now that was not */
  follow(): boolean;
  /** Nothing of this account and consumer starts before; the latest time counts, within 24 h. */
  delay(consumer: string, accountId: number | undefined, until: number): void;
  /** Its handler is stuck, or cannot be settled: one more of its account and consumer may start. @returns to be called when that is over */
  overdue(claim: Claim): () => void;
  /** That have not ended. */
  delays(): readonly AccountDelay[];
  isHeldClaim(claim: Claim): boolean;
  /** Any job, as far as the inbox has asked: then nothing starts of what waits, and that is no fault. */
  readonly holds: boolean;
  /** Its timer goes on with the next `follow`. */
  stop(): void;
}

/** An account of a consumer that waits. */
export interface AccountDelay {
  readonly consumer: string;
  readonly accountId: number | undefined;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export interface FlowRulesOptions
  extends Pick<ClaimRules, "fairness" | "perAccount">, Pick<DispatchDeps, "clock" | "faultLog"> {
  /** Undefined where the inbox has none, and does not follow these rules. */
  readonly pauses: Pick<Pauses, "current"> | undefined;
}

/** A service that asks for more is asked again after this, milliseconds. */
const MOST_DELAY_MS = 24 * 60 * 60 * 1_000;
/** Delays end together at multiples of this: each end looks at all of them, and there may be one for each of many accounts, milliseconds. */
const TOGETHER_MS = 50;

/** @param wake something may be held no more */
export function createFlowRules(
  { fairness, perAccount, pauses, clock, faultLog }: FlowRulesOptions,
  wake: () => void,
): FlowRules {
  let known: readonly Pause[] = [];
  /** As the inbox gave it. */
  let list: readonly unknown[] = known;
  let pausedNow = pausedBy(known);
  /** Calls that are stuck, by account and consumer: what they may never give back is given to others. */
  const stuck = new Map<string, number>();
  const delays = new Map<string, AccountDelay & { readonly ms: number }>();
  let isNewlyHeld = false;
  /** Since the version changed: then the inbox asks of all again, but of what is parked for a pause only where `resumed` did. */
  let [hasDelayed, hasPaused] = [false, false];
  let [version, resumed] = [0, 0];
  let timer: Timer | undefined;
  /** When the next delay ends; and the last look at the clock, which may go back. */
  let [delayEnd, lookedAt] = [Infinity, -Infinity];

  /** An inbox of somebody else's may give anything: what was known holds until it gives a list again. */
  function currentList(): readonly unknown[] {
    try {
      return listOf(pauses);
    } catch (err) {
      catchRejection(err);
      faultLog.error({ err, code: "pauses-failed" }, "the inbox does not say what is paused: what it said last holds");
      return list;
    }
  }

  /** What is known of pauses holds at once, also for a claim that is under way; and what has ended ends. */
  function look(): void {
    const current = currentList();
    if (current !== list) {
      [list, known] = [current, current.flatMap(toPause)];
      [pausedNow, isNewlyHeld] = [pausedBy(known), true];
      resumed += 1;
      version += 1;
      hasDelayed = hasPaused = false;
    }
    if (delays.size === 0) return;
    const now = clock.now();
    const isBack = now < lookedAt;
    lookedAt = now;
    if (now < delayEnd && !isBack) return;
    delayEnd = Infinity;
    for (const [key, { until, ms }] of delays) {
      // One that is further away than it is long was noted before the clock went back.
      if (until <= now || until > now + ms) delays.delete(key);
      else delayEnd = Math.min(delayEnd, until);
    }
    version += 1;
    hasDelayed = false;
  }

  function isPaused(consumer: string, account: number | undefined): boolean {
    const isSo = pausedNow({ consumer, account });
    hasPaused ||= isSo;
    return isSo;
  }

  function isHeld(consumer: string, accountId: number | undefined): boolean {
    const isDelayed = delays.size > 0 && delays.has(keyOf(consumer, accountId));
    hasDelayed ||= isDelayed;
    return isDelayed || isPaused(consumer, accountId);
  }

  function ended(): void {
    timer = undefined;
    wake();
  }

  /** When the next delay or pause ends. */
  function schedule(): void {
    timer?.clear();
    let next = delayEnd;
    for (const { until = Infinity } of known) next = Math.min(next, until);
    const ms = Math.min(Math.max(next - clock.now(), 1), LOOK_AGAIN_MS);
    timer = next === Infinity ? undefined : clock.setTimer(ended, ms);
    timer?.unref?.();
  }

  return {
    fairness,
    perAccount: (consumer, accountId) =>
      perAccount(consumer) + (stuck.size === 0 ? 0 : (stuck.get(keyOf(consumer, accountId)) ?? 0)),
    isHeld,
    get version() {
      look();
      return version;
    },
    isPaused,
    get isPausing() {
      look();
      return known.length > 0;
    },
    get resumed() {
      return resumed;
    },
    follow() {
      look();
      const isMore = isNewlyHeld;
      isNewlyHeld = false;
      if (isMore || timer === undefined) schedule();
      return isMore;
    },
    delay(consumer, accountId, until) {
      if (pauses === undefined) return;
      look(); // what ends with a clock that went back is not to be prolonged
      const [key, now] = [keyOf(consumer, accountId), clock.now()];
      const end = Math.ceil(Math.min(until, now + MOST_DELAY_MS) / TOGETHER_MS) * TOGETHER_MS;
      const latest = Math.max(end, delays.get(key)?.until ?? 0);
      delays.set(key, { consumer, accountId, until: latest, ms: latest - now });
      delayEnd = Math.min(delayEnd, latest);
      isNewlyHeld = true;
    },
    overdue(claim) {
      const key = tryKeyOf(claim);
      if (key === undefined) return () => {};
      stuck.set(key, (stuck.get(key) ?? 0) + 1);
      version += 1;
      return () => {
        const left = (stuck.get(key) ?? 0) - 1;
        if (left > 0) stuck.set(key, left);
        else stuck.delete(key);
      };
    },
    delays: () => [...delays.values()].filter(({ until }) => until > clock.now()),
    isHeldClaim({ jobs: [job] }) {
      look();
      if (delays.size === 0 && known.length === 0) return false;
      try {
        return isHeld(job.consumer, accountOf(job));
      } catch {
        return false; // one that cannot be read ends where it starts
      }
    },
    get holds() {
      return (hasDelayed && delays.size > 0) || (hasPaused && known.length > 0);
    },
    stop() {
      timer?.clear();
      timer = undefined;
    },
  };
}

const keyOf = (consumer: string, accountId: number | undefined): string => `${accountId} ${consumer}`;

/** Undefined for a claim that cannot be read. */
function tryKeyOf({ jobs: [job] }: Claim): string | undefined {
  try {
    return keyOf(job.consumer, accountOf(job));
  } catch {
    return undefined;
  }
}
