import type { DatabaseSync } from "node:sqlite";
import type { Counters } from "./counters.ts";
import { jobFinder, type FoundPage } from "./find.ts";
import { createHands, type Hands } from "./hands.ts";
import { createIntake, type Intake } from "./intake.ts";
import { createJobLists } from "./job-lists.ts";
import type { DeliveryRow, JobRow, LoadedJob, SettleRecord } from "./messages.ts";
import { createOwnership, type Ownership } from "./ownership.ts";
import { createRemovals } from "./removals.ts";
import { createRequestTable } from "./request-table.ts";
import { createRequests, type Requests } from "./requests.ts";
import { createScrub, type Scrub } from "./scrub.ts";
import { createRetentionSteps, type RetentionSteps } from "./retention-steps.ts";
import { settleWriter } from "./settle-writer.ts";
import { createStoneTable, type StoneTable } from "./stone-table.ts";
import { createVacuum, type Vacuum } from "./vacuum.ts";

/** What a commit can do. Each runs inside its transaction. */
export interface Operations
  extends Ownership, Intake, Pick<Hands, "reopen">, Requests, RetentionSteps, StoneTable, Vacuum {
  settle(record: SettleRecord): void;
  deliveries(ids: readonly number[]): DeliveryRow[];
  /** The oldest, with the entry to go on with. */
  unexpanded(max: number): (DeliveryRow & { readonly cursor: number })[];
  /** Unsettled jobs, in the order of ids. */
  jobs(page: { readonly after: number; readonly limit: number }): LoadedJob[];
  /** Jobs in a range of ids behind `after`: what one look at the file may take, so that commits do not wait for it. */
  find(page: { readonly after: number; readonly range?: number }): FoundPage;
  unhandled(page: { readonly after: number; readonly limit: number }): UnhandledRow[];
  /** The copy that a dead or unhandled job carries. */
  copyOf(id: number): DeliveryRow | undefined;
}

/** An unhandled job with its own copy of the delivery. */
interface UnhandledRow extends DeliveryRow {
  readonly delivery: number;
  readonly entry: number;
  readonly consumer: string | null;
}

/** Ids looked at in one go. */
const RANGE = 5_000;

const DELIVERY = `id, received_at AS receivedAt, sent_at AS sentAt, source, signed_by AS signedBy, signature, headers, body`;

export function createOperations(
  db: DatabaseSync,
  options: { readonly counters: Counters; readonly dedupeWindowMs: number; readonly scrub?: Scrub },
): Operations {
  const lists = createJobLists(db);
  const parts = { lists, ...options };
  const find = jobFinder(db, parts);
  const ownership = createOwnership(db, options.counters);
  const { replay, reopen } = createHands(db, parts);
  const sql = {
    delivery: db.prepare(`SELECT ${DELIVERY} FROM delivery WHERE id = ?`),
    unexpanded: db.prepare(`SELECT ${DELIVERY}, cursor FROM delivery WHERE cursor IS NOT NULL ORDER BY id LIMIT ?`),
    jobs: db.prepare(
      `SELECT id, delivery, entry, consumer, lane, merge_key AS mergeKey, received_at AS receivedAt, attempts, deaths,
         first_attempt_at AS firstAttemptAt, run_at AS runAt, delay_ms AS delayMs, error, replay_of AS replayOf
       FROM job WHERE id > ? ORDER BY id LIMIT ?`,
    ),
    unhandled: db.prepare(
      `SELECT ${DELIVERY}, delivery, entry, consumer FROM dead WHERE state = 'unhandled' AND id > ? ORDER BY id LIMIT ?`,
    ),
    copyOf: db.prepare(`SELECT ${DELIVERY} FROM dead WHERE id = ?`),
  };

  return {
    ...ownership,
    ...createIntake(db, parts),
    reopen,
    ...createRequests({
      counters: options.counters,
      table: createRequestTable(db),
      scrub: options.scrub ?? createScrub(db),
      find,
      replay,
      ...createRemovals(db, parts),
      ...ownership,
    }),
    ...createRetentionSteps(db, parts),
    ...createStoneTable(db),
    ...createVacuum(db),
    settle: settleWriter(db, options.counters),
    deliveries: (wanted) => wanted.flatMap((id) => (sql.delivery.get(id) as unknown as DeliveryRow | undefined) ?? []),
    unexpanded: (max) => sql.unexpanded.all(max) as unknown as (DeliveryRow & { cursor: number })[],
    jobs: ({ after, limit }) => (sql.jobs.all(after, limit) as unknown as JobRow[]).map(toLoaded),
    find: ({ after, range = RANGE }) => find(after, range),
    unhandled: ({ after, limit }) => sql.unhandled.all(after, limit) as unknown as UnhandledRow[],
    copyOf: (id) => sql.copyOf.get(id) as unknown as DeliveryRow | undefined,
  };
}

function toLoaded({
  id,
  delivery,
  entry,
  consumer,
  lane,
  mergeKey,
  receivedAt,
  replayOf,
  ...progress
}: JobRow): LoadedJob {
  const { attempts, deaths, runAt, error } = progress;
  const isFresh = attempts === 0 && deaths === 0 && runAt === 0 && error === null;
  return [id, delivery, entry, consumer, lane, mergeKey, receivedAt, replayOf, isFresh ? null : progress];
}
