import type { DatabaseSync } from "node:sqlite";
import { createJobChanges, type JobChanges } from "../jobs/change-jobs.ts";
import { createAdminRequests, type AdminRequests, type SecureErase } from "../jobs/request-pages.ts";
import { createBodyRemoval, type BodyRemoval } from "../upkeep/body-removal.ts";
import { createNeededDeliveries } from "../upkeep/needed-deliveries.ts";
import { createRetentionSteps, createVacuum, type RetentionSteps, type Vacuum } from "../upkeep/retention-steps.ts";
import { createClaimOperations, type ClaimOperations } from "./claim-operations.ts";
import { createFileState, type FileCounts } from "./file-state.ts";
import { isNumber } from "../schema/columns.ts";
import { createEndedCounts, type EndedCounts } from "../schema/ended-counts.ts";
import { createGapTable, type GapTable } from "../schema/gap-table.ts";
import { createJobFinder, type JobFinder } from "../jobs/find-jobs.ts";
import { createUnpausedFinder, type UnpausedFinder } from "../jobs/find-unpaused.ts";
import { createJobLists } from "../jobs/job-lists.ts";
import { createJobTable } from "../schema/job-table.ts";
import { createKeyValueTable, type KeyValueTable } from "../schema/key-value-table.ts";
import { createWindowTable, type WindowTable } from "../schema/lane-window-table.ts";
import { createDeliveryOperations, type DeliveryOperations } from "../store/store-deliveries.ts";
import { createSubscriptionTable, type SubscriptionTable } from "../schema/subscription-table.ts";
import { createTombstoneTable, type TombstoneTable } from "../schema/tombstone-table.ts";
import { createUnusableRows, type UnusableRows } from "./unusable-rows.ts";

/** What a commit can do, by its verb. Each runs inside its transaction. */
export interface Operations
  extends
    DeliveryOperations,
    ClaimOperations,
    JobFinder,
    Pick<EndedCounts, "endedGroups">,
    Pick<JobChanges, "reopen">,
    AdminRequests,
    RetentionSteps,
    Pick<BodyRemoval, "removeBodies">,
    Vacuum,
    TombstoneTable,
    Omit<SubscriptionTable, "note" | "forgetAccount">,
    Omit<GapTable, "forgetAccount">,
    Pick<WindowTable, "windows">,
    Pick<UnusableRows, "removeUnusable">,
    Omit<KeyValueTable, "forgetAccount" | "forgetReasons"> {
  readonly oldestUnpaused: UnpausedFinder;
}

/** They change nothing: together they take no lock. */
export const READS: ReadonlySet<keyof Operations> = new Set<keyof Operations>([
  "deliveries",
  "unexpanded",
  "openJobs",
  "openJobsOf",
  "windows",
  "find",
  "get",
  "findUnhandled",
  "blocked",
  "endedGroups",
  "requestState",
  "nextRequest",
  "hasRemovals",
  "trustedAt",
  "tombstones",
  "erroredSubscriptions",
  "knownSubscriptions",
  "resourcesOf",
  "findGaps",
  "countGaps",
  "keyValue",
  "pauses",
  "countWaiting",
  "oldestUnpaused",
]);

/** Operations, and what stands beside their transactions. */
export interface FileOperations extends Operations, SecureErase {
  /** A transaction begins. @param epoch of the process that works @throws FileError `epoch-stale` when another process took over */
  begin(epoch: number | undefined): void;
  /** The transaction is about to be committed. */
  end(): void;
  /** It was rolled back. */
  undo(): void;
  /** Outside of any. @param works whether this process has its open jobs in memory */
  counts(works: boolean): FileCounts;
}

export function createOperations(
  db: DatabaseSync,
  { dedupeWindowMs }: { readonly dedupeWindowMs: number },
): FileOperations {
  const state = createFileState(db);
  const lists = createJobLists(db);
  const needed = createNeededDeliveries(db, { state, lists });
  const bodies = createBodyRemoval(db, needed);
  const jobs = createJobTable(db, { state, lists, ended: bodies.ended });
  const subscriptions = createSubscriptionTable(db);
  const gaps = createGapTable(db);
  const keyValues = createKeyValueTable(db);
  const windows = createWindowTable(db);
  const finder = createJobFinder(db, { state, lists });
  const changes = createJobChanges(db, { state, lists, jobs, finder, subscriptions, gaps, keyValues });
  const deliveries = createDeliveryOperations(db, { state, lists, jobs, subscriptions, dedupeWindowMs });
  const ended = createEndedCounts(db);
  const unusable = createUnusableRows(db, { state, lists, ended });
  const oldest = {
    unexpanded: db.prepare(
      `SELECT received_at AS at FROM delivery WHERE id = (SELECT min(delivery) FROM unexpanded) AND ${isNumber("received_at")}`,
    ),
    open: db.prepare(`SELECT received_at AS at FROM job WHERE ${isNumber("received_at")} ORDER BY id LIMIT 1`),
  };

  /** Fresh jobs have no row. */
  function oldestOpen(): number | undefined {
    const times = [...state.mark.entries()].flatMap(({ id, isFresh }) =>
      isFresh ? (lists.find(id)?.receivedAt ?? []) : [],
    );
    const at = oldest.open.get()?.["at"];
    if (at === undefined && times.length === 0) return undefined;
    return times.reduce((least, time) => Math.min(least, time), Number(at ?? Infinity));
  }

  return {
    begin(epoch) {
      state.begin(epoch);
      lists.begin();
    },
    end: state.end,
    undo() {
      state.undo();
      bodies.undo();
    },
    ...deliveries,
    ...createClaimOperations(db, { state, jobs, windows, deliveries: deliveries.deliveries, unusable }),
    ...finder,
    endedGroups: ended.endedGroups,
    reopen: changes.reopen,
    ...createAdminRequests(db, { state, finder, changes, windows }),
    ...createRetentionSteps(db, { state, lists, jobs, needed }),
    removeBodies: bodies.removeBodies,
    ...createVacuum(db),
    ...createTombstoneTable(db, { state, subscriptions }),
    ...subscriptions,
    ...gaps,
    windows: windows.windows,
    removeUnusable: unusable.removeUnusable,
    ...keyValues,
    oldestUnpaused: createUnpausedFinder(db, { state, lists }),
    counts(works) {
      const counts = state.counts();
      const at = counts.unexpanded > 0 ? oldest.unexpanded.get()?.["at"] : undefined;
      const isOpen = counts.waiting + counts.running > 0;
      return {
        ...counts,
        oldestUnexpandedAt: at === undefined ? undefined : Number(at),
        oldestOpenAt: isOpen && !works ? oldestOpen() : undefined,
      };
    },
  };
}
