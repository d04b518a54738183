import { TOMBSTONE_LIFE_MS, type Clock, type InboxHost, type Timer } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { BodyTurn } from "./body-removal.ts";
import { HIT_EVERY_MS } from "./tombstones.ts";
import type { RetainLimits, ScannedPage } from "./retention-steps.ts";

/** Takes away what has had its time, as long as this process works. */
export interface Retention {
  /** A pass at once, and again after each minute. */
  begin(): void;
  end(): void;
}

export interface RetentionParts {
  readonly commits: CommitQueue;
  readonly host: () => InboxHost;
  /** Whether the file is this process's to work on. */
  readonly works: () => boolean;
  /** Looks at what else may grow, once a pass. */
  readonly watch: () => void;
  /** Done and skipped jobs with their deliveries, milliseconds since they were received. */
  readonly keepDoneMs: number;
  /** Milliseconds since they were marked unhandled. */
  readonly keepUnhandledMs: number;
  /** Dead jobs, milliseconds since they were settled. */
  readonly keepDeadMs: number;
  readonly keepBodies: KeepBodies;
}

/** How long bodies of deliveries are stored: as long as the rest of them, or until all their jobs are done or skipped. */
export type KeepBodies = "retention" | "until-done";

/** Between two passes. Bodies are promised to be gone a minute after their last job. */
const EVERY_MS = { retention: 60_000, "until-done": 20_000 };
/** Between two steps of one: what else waits for a commit is not held up. */
const PAUSE_MS = 10;

/** A scan over what is kept beyond its time takes so much longer to come again for each page of it that it is to read. */
const PAGE_EVERY_MS = 1_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

export function createRetention({ commits, host, works, watch, ...keep }: RetentionParts): Retention {
  let life: object | undefined;
  let timer: Timer | undefined;

  /** @returns whether this is still its life; at once where it is not */
  const wait = (ms: number, mine: object): Promise<boolean> =>
    new Promise((resolve) => {
      if (life !== mine) return resolve(false);
      timer = host().clock.setTimer(() => resolve(life === mine), ms);
      // What is to be removed keeps no process from ending.
      timer.unref?.();
    });

  async function live(mine: object): Promise<void> {
    const time = createTrustedTime(host().clock, await commits.add("trustedAt", undefined));
    const scan = createScan();
    const expired = createExpiredLog(host());
    // Anew for each step: the wall clock may have been set back since the last one.
    const limits = (now = time.now()): RetainLimits => ({
      wallClock: host().clock.now(),
      trusted: time.reached,
      received: now - keep.keepDoneMs,
      unhandled: now - keep.keepUnhandledMs,
      dead: now - keep.keepDeadMs,
      keys: now - host().dedupeWindowMs,
      // The last hit may not have been written down.
      tombstones: now - TOMBSTONE_LIFE_MS - HIT_EVERY_MS,
    });
    const everyMs = EVERY_MS[keep.keepBodies];
    let bodies: BodyTurn | undefined = keep.keepBodies === "until-done" ? "anew" : undefined;
    do {
      scan.begin(host().clock.now());
      for (let isMore = true; isMore && (await wait(PAUSE_MS, mine)) && works();) {
        const step = await commits.add("retain", { ...limits(), after: scan.after });
        isMore = scan.advance(step) || step.isMore;
        expired.add(step.expired);
      }
      for (let isMore = bodies !== undefined; isMore && (await wait(PAUSE_MS, mine)) && works(); bodies = "on")
        isMore = await commits.add("removeBodies", bodies ?? "on");
      bodies &&= "pass";
      while ((await wait(PAUSE_MS, mine)) && works() && (await commits.add("vacuum", undefined)));
      expired.tell();
      watch();
      time.pass(everyMs);
    } while (await wait(everyMs, mine));
  }

  async function liveOn(mine: object): Promise<void> {
    do
      try {
        await live(mine);
      } catch (error) {
        if (life !== mine) return;
        const { log } = host();
        log.warn({ err: error, code: "retention-failed" }, "what has had its time could not be removed: tried again");
      }
    while (await wait(EVERY_MS[keep.keepBodies], mine));
  }

  return {
    begin() {
      timer?.clear();
      const mine = {};
      life = mine;
      void liveOn(mine);
    },
    end() {
      timer?.clear();
      life = undefined;
    },
  };
}

/** Where the old deliveries are looked for: behind the last ones, and now and then among those that a job kept. */
function createScan() {
  let after = 0;
  let pages = 0;
  let firstKept: number | undefined;
  let fullAt: number | undefined;
  return {
    get after() {
      return after;
    },
    /** A pass begins. */
    begin(now: number): void {
      const age = fullAt === undefined ? Infinity : Math.abs(now - fullAt);
      if (age < pages * PAGE_EVERY_MS) return;
      if (firstKept !== undefined) after = firstKept - 1;
      [fullAt, pages, firstKept] = [now, 0, undefined];
    },
    /** @returns whether there may be more */
    advance({ after: next, kept, keptPages }: ScannedPage): boolean {
      firstKept ??= kept;
      // Of what goes, no later scan reads anything.
      pages += keptPages;
      if (next === undefined) return false;
      after = next;
      return true;
    },
  };
}

/** Tells how many dead letters expired, once a day. */
function createExpiredLog({ clock, log }: Pick<InboxHost, "clock" | "log">) {
  let count = 0;
  let toldAt: number | undefined;
  return {
    add(expired: number): void {
      count += expired;
    },
    tell(): void {
      const now = clock.now();
      if (count === 0 || (toldAt !== undefined && Math.abs(now - toldAt) < DAY_MS)) return;
      log.warn({ code: "dead-expired", jobs: count }, "dead letters were removed: they are older than `keepDeadDays`");
      [count, toldAt] = [0, now];
    },
  };
}

/** The time by which things are too old to be stored. */
export interface TrustedTime {
  now(): number;
  /** What a restart goes on from: a wall clock that is behind leaves it where it was for a while. */
  readonly reached: number;
  /** So much of it passes by the timers until it is asked again: no setting of the wall clock moves those. */
  pass(ms: number): void;
}

/** How much faster than time itself: a month that the machine was off is caught up with in twelve hours. */
const CATCH_UP = 60;

/**
 * Never ahead of the wall clock, and it does not jump ahead with it: it begins where the last process was, or at the newest stamp in the file, and
 * catches up. A wall clock that is set a year ahead by mistake makes things too early old by one hour each minute, until it is set right. It
 * goes back to one that is behind as slowly: a clock that begins in 1970 at each boot delays it by an hour for each minute until it is set.
 * @param begin undefined: nothing is there that could be removed by mistake
 */
export function createTrustedTime(clock: Clock, begin: number | undefined): TrustedTime {
  let reached = begin ?? clock.now();
  return {
    now: () => Math.min(reached, clock.now()),
    get reached() {
      return reached;
    },
    pass(ms) {
      const step = ms * CATCH_UP;
      reached = Math.max(Math.min(reached, clock.now()) + step, reached - step);
    },
  };
}
