import { TOMBSTONE_LIFE_MS, type InboxHost } from "../../../../src/adapter.ts";
import {
  createExpiredLog,
  createRetention,
  createTrustedTime,
  type Passes,
  type Retention,
} from "../../../../src/inbox/upkeep/retention.ts";
import { HIT_EVERY_MS } from "../../../../src/inbox/upkeep/tombstone-cache.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { BodyTurn } from "./body-removal.ts";
import type { RetainLimits, ScannedPage } from "./retention-steps.ts";

/** What the retention of a file stands on. */
export interface FileRetentionParts {
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

/** Removes what is too old from a file that this process works on. */
export function createFileRetention({ commits, host, works, watch, ...keep }: FileRetentionParts): Retention {
  const everyMs = EVERY_MS[keep.keepBodies];

  async function run({ wait }: Passes): Promise<void> {
    const goesOn = async (): Promise<boolean> => (await wait(PAUSE_MS)) && works();
    const time = createTrustedTime(() => host().clock.now(), await commits.add("trustedAt", undefined));
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
    let bodies: BodyTurn | undefined = keep.keepBodies === "until-done" ? "anew" : undefined;
    do {
      scan.begin(host().clock.now());
      for (let isMore = true; isMore && (await goesOn());) {
        const step = await commits.add("retain", { ...limits(), after: scan.after });
        isMore = scan.advance(step) || step.isMore;
        expired.add(step.expired);
      }
      for (let isMore = bodies !== undefined; isMore && (await goesOn()); bodies = "on")
        isMore = await commits.add("removeBodies", bodies ?? "on");
      bodies &&= "pass";
      while ((await goesOn()) && (await commits.add("vacuum", undefined)));
      expired.tell();
      watch();
      time.pass(everyMs);
    } while (await wait(everyMs));
  }

  return createRetention({ host, everyMs, run });
}

/** Where the old deliveries are looked for: behind the last ones, and now and then from the first on, which a job may have kept. */
function createScan() {
  let after = 0;
  let pages = 0;
  let fullAt: number | undefined;
  return {
    get after() {
      return after;
    },
    /** A pass begins. */
    begin(now: number): void {
      const age = fullAt === undefined ? Infinity : Math.abs(now - fullAt);
      if (age < pages * PAGE_EVERY_MS) return;
      [after, fullAt, pages] = [0, now, 0];
    },
    /** @returns whether there may be more */
    advance({ after: next, keptPages }: ScannedPage): boolean {
      // Of what goes, no later scan reads anything.
      pages += keptPages;
      if (next === undefined) return false;
      after = next;
      return true;
    },
  };
}
