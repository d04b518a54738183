import type { DatabaseSync } from "node:sqlite";
import type { HandledType } from "../../../../src/adapter.ts";
import { createDropAndErase } from "../admin/drop-and-erase.ts";
import { createReplays, type Replays } from "../admin/replay.ts";
import { createAdminRequests, createRequestTable, type AdminRequests } from "../admin/request-pages.ts";
import { createSecureErase, type SecureErase } from "../admin/secure-erase.ts";
import type { DeliveryRow, SettleRecord } from "../client/thread-protocol.ts";
import { createRetentionSteps, createVacuum, type RetentionSteps, type Vacuum } from "../retention/retention-steps.ts";
import type { Counters } from "./counters.ts";
import { createDeliveryWriter, type DeliveryWriter } from "./insert-delivery.ts";
import { createJobLists } from "./job-lists.ts";
import { settleWriter } from "./job-writer.ts";
import { createWindowTable, type WindowTable } from "./lane-window-table.ts";
import { createOwnerEpoch, type OwnerEpoch } from "./owner-epoch.ts";
import { jobFinder, type FoundPage } from "./query-jobs.ts";
import { createSubscriptionTable, type SubscriptionTable } from "./subscription-table.ts";
import { createTombstoneTable, type TombstoneTable } from "./tombstone-table.ts";

/** What a commit can do. Each runs inside its transaction. */
export interface Operations
  extends
    OwnerEpoch,
    DeliveryWriter,
    Pick<Replays, "reopen">,
    AdminRequests,
    RetentionSteps,
    TombstoneTable,
    Pick<SubscriptionTable, "erroredSubscriptions" | "forgetSubscription">,
    Vacuum,
    Pick<WindowTable, "windows"> {
  settle(record: SettleRecord): void;
  deliveries(ids: readonly number[]): DeliveryRow[];
  /** The oldest, with the entry to go on with; fewer where they are long, and at least one if there is any. */
  unexpanded(max: number): UnexpandedRow[];
  /** Unsettled jobs, in the order of ids. */
  jobs(page: { readonly after: number; readonly limit: number }): JobPage;
  /** Jobs in a range of ids behind `after`: what one look at the file may take, so that commits do not wait for it. */
  find(page: { readonly after: number; readonly range?: number }): FoundPage;
  unhandled(page: UnhandledPage): UnhandledRow[];
  /** The copy that a dead or unhandled job carries. */
  copyOf(id: number): DeliveryRow | undefined;
}

/** A page of them, as text: a million of them as objects would keep both threads busy for ten times as long. */
export interface JobPage {
  /** Null: there are no more. */
  readonly last: number | null;
  /** JSON of a list of `LoadedJob`. */
  readonly jobs: string;
}

interface UnexpandedRow extends DeliveryRow {
  readonly cursor: number;
}

interface UnhandledPage {
  readonly handled: readonly HandledType[];
  readonly after: number;
  readonly limit: number;
}

/** An unhandled job with its own copy of the delivery. */
interface UnhandledRow extends DeliveryRow {
  readonly delivery: number;
  readonly entry: number;
  readonly consumer: string | null;
}

/** Ids looked at in one go. */
const RANGE = 5_000;
/** Of bodies read in one go: more than a commit takes in, or what waits would only grow. */
const PAGE_BYTES = 16 * 1024 * 1024;

const DELIVERY = `id, received_at AS receivedAt, sent_at AS sentAt, source, signed_by AS signedBy, signature, headers, body`;

export function createOperations(
  db: DatabaseSync,
  options: { readonly counters: Counters; readonly dedupeWindowMs: number; readonly secureErase?: SecureErase },
): Operations {
  const lists = createJobLists(db);
  const subscriptions = createSubscriptionTable(db);
  const parts = { lists, subscriptions, ...options };
  const find = jobFinder(db, parts);
  const ownerEpoch = createOwnerEpoch(db, options.counters);
  const { windows, sweepWindows } = createWindowTable(db);
  const { replay, reopen } = createReplays(db, parts);
  const sql = {
    delivery: db.prepare(`SELECT ${DELIVERY} FROM delivery WHERE id = ?`),
    unexpanded: db.prepare(`SELECT ${DELIVERY}, cursor FROM delivery WHERE cursor IS NOT NULL ORDER BY id LIMIT ?`),
    jobs: db.prepare(
      `SELECT max(id) AS last, json_group_array(json_array(
         id, delivery, entry, consumer, lane, merge_key, received_at, replay_of,
         CASE WHEN attempts > 0 OR deaths > 0 OR run_at > 0 OR error IS NOT NULL THEN json_object('attempts', attempts,
           'deaths', deaths, 'groupMax', group_max, 'firstAttemptAt', first_attempt_at, 'runAt', run_at, 'delayMs', delay_ms, 'error', error) END
       )) AS jobs FROM (SELECT * FROM job WHERE id > ? ORDER BY id LIMIT ?)`,
    ),
    unhandled: db.prepare(
      `SELECT ${DELIVERY}, delivery, entry, consumer FROM dead WHERE state = 'unhandled' AND id > ? AND EXISTS (
         SELECT 1 FROM json_each(?) AS handled WHERE handled.value ->> 'type' = dead.type
           AND (dead.consumer IS NULL OR handled.value ->> 'consumer' = dead.consumer)
       ) ORDER BY id LIMIT ?`,
    ),
    copyOf: db.prepare(`SELECT ${DELIVERY} FROM dead WHERE id = ?`),
  };

  return {
    ...ownerEpoch,
    ...createDeliveryWriter(db, { ...parts, markMade: ownerEpoch.markMade }),
    reopen,
    ...createAdminRequests({
      counters: options.counters,
      table: createRequestTable(db),
      secureErase: options.secureErase ?? createSecureErase(db),
      find,
      replay,
      sweepWindows,
      ...createDropAndErase(db, parts),
      ...ownerEpoch,
    }),
    ...createRetentionSteps(db, parts),
    ...createTombstoneTable(db, subscriptions),
    erroredSubscriptions: subscriptions.erroredSubscriptions,
    forgetSubscription: subscriptions.forgetSubscription,
    ...createVacuum(db),
    windows,
    settle: settleWriter(db, options.counters),
    deliveries: (wanted) => wanted.flatMap((id) => (sql.delivery.get(id) as unknown as DeliveryRow | undefined) ?? []),
    unexpanded: (max) => pageOf(sql.unexpanded.iterate(max) as unknown as Iterable<UnexpandedRow>),
    jobs: ({ after, limit }) => sql.jobs.get(after, limit) as unknown as JobPage,
    find: ({ after, range = RANGE }) => find(after, range),
    unhandled: ({ handled, after, limit }) =>
      sql.unhandled.all(after, JSON.stringify(handled), limit) as unknown as UnhandledRow[],
    copyOf: (id) => sql.copyOf.get(id) as unknown as DeliveryRow | undefined,
  };
}

function pageOf(rows: Iterable<UnexpandedRow>): UnexpandedRow[] {
  const page: UnexpandedRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += row.body.byteLength;
    if (page.length > 0 && bytes > PAGE_BYTES) break;
    page.push(row);
  }
  return page;
}
