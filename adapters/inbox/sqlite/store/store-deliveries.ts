import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { readDeliveries, type DeliveryRecord } from "./delivery-record.ts";
import {
  STATE,
  type DeliveryRow,
  type ExpandInput,
  type ExpandOutput,
  type Extras,
  type NewJobs,
  type Seen,
  type StoreInput,
  type StoreOutput,
} from "../thread/records.ts";
import type { FileState } from "../thread/file-state.ts";
import type { JobLists, Line } from "../jobs/job-lists.ts";
import { isNumber, rowsOf } from "../schema/columns.ts";
import type { JobTable } from "../schema/job-table.ts";
import type { SubscriptionTable } from "../schema/subscription-table.ts";
import { IS_READABLE } from "../thread/unusable-rows.ts";

/** What comes in, and the jobs that are made of it. */
export interface DeliveryOperations {
  /** @param bytes of the batch */
  store(input: StoreInput, bytes: Uint8Array): StoreOutput;
  /** Undefined where there is nothing to expand any more, or an older delivery waits, whose own expansion failed: none overtakes it. */
  expand(input: ExpandInput): ExpandOutput | undefined;
  /** Those that can be read. */
  deliveries(ids: readonly number[]): DeliveryRow[];
  /** The oldest, with the entry to go on with; fewer where they are long, and at least one if there is any. */
  unexpanded(max: number): UnexpandedPage;
}

interface UnexpandedPage {
  readonly rows: readonly UnexpandedRow[];
  /** There are others, of which none can be read. */
  readonly hasUnusable: boolean;
}

interface UnexpandedRow extends DeliveryRow {
  readonly cursor: number;
}

export interface DeliveryOperationsDeps {
  readonly state: FileState;
  readonly lists: JobLists;
  readonly jobs: JobTable;
  readonly subscriptions: Pick<SubscriptionTable, "note">;
  /** How long a natural key is remembered. */
  readonly dedupeWindowMs: number;
}

/** Of bodies read in one go: more than a commit takes in, or what waits would only grow. */
const PAGE_BYTES = 16 * 1024 * 1024;

/** What a delivery says of all its jobs. */
interface Origin {
  readonly delivery: number;
  readonly firstJob: number;
  readonly receivedAt: number;
  readonly sentAt: number;
  readonly source: string | null;
  /** Now. */
  readonly at: number;
}

/** The jobs of some events, as they are written. */
interface Made {
  /** JSON of their list. */
  readonly list: string;
  readonly seen: Seen | undefined;
}

export function createDeliveryOperations(db: DatabaseSync, deps: DeliveryOperationsDeps): DeliveryOperations {
  const { state, lists, jobs, subscriptions, dedupeWindowMs } = deps;
  const row = `id, received_at AS receivedAt, sent_at AS sentAt, source, signed_by AS signedBy, signature, headers, body`;
  const sql = {
    // Early releases of Node 22 bind a body of no bytes as NULL.
    insert: db.prepare("INSERT INTO delivery VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(?, x''))"),
    insertUnexpanded: db.prepare("INSERT INTO unexpanded VALUES (?, 0)"),
    cursor: db.prepare("SELECT cursor FROM unexpanded WHERE delivery = ?"),
    advance: db.prepare("UPDATE unexpanded SET cursor = ? WHERE delivery = ?"),
    removeUnexpanded: db.prepare("DELETE FROM unexpanded WHERE delivery = ?"),
    origin: db.prepare("SELECT received_at AS receivedAt, sent_at AS sentAt, source FROM delivery WHERE id = ?"),
    delivery: db.prepare(`SELECT ${row} FROM delivery WHERE id = ? AND ${IS_READABLE}`),
    // A plain join would go through all deliveries to find these few.
    unexpanded:
      db.prepare(/* sql */ `SELECT ${row}, cursor FROM unexpanded CROSS JOIN delivery ON delivery.id = unexpanded.delivery WHERE ${IS_READABLE} AND ${isNumber("cursor")}
       ORDER BY unexpanded.delivery LIMIT ?`),
    oldest:
      db.prepare(/* sql */ `SELECT unexpanded.delivery = ? AS isOldest FROM unexpanded CROSS JOIN delivery ON delivery.id = unexpanded.delivery
       WHERE ${IS_READABLE} AND ${isNumber("cursor")} ORDER BY unexpanded.delivery LIMIT 1`),
    seen: db.prepare("SELECT 1 FROM dedupe WHERE key = ? AND seen_at > ?"),
    remember: db.prepare(
      "INSERT INTO dedupe VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET seen_at = max(seen_at, excluded.seen_at)",
    ),
  };

  /** The same key with other content is no duplicate. Both are remembered. */
  function look(key: string, content: string, now: number): "new" | "duplicate" | "conflict" {
    const [natural, whole] = [hash(key), hash(`${key}\n${content}`)];
    const since = now - dedupeWindowMs;
    if (sql.seen.get(whole, since) !== undefined) return "duplicate";
    const isConflict = sql.seen.get(natural, since) !== undefined;
    sql.remember.run(natural, now);
    sql.remember.run(whole, now);
    return isConflict ? "conflict" : "new";
  }

  /** Finds duplicates, and takes their jobs out of the list. */
  function dedupe(unique: Extras["unique"], lines: (Line | 0)[], now: number): Seen {
    const [duplicates, conflicts]: [number[], number[]] = [[], []];
    for (const [key, content, event, firstPlace, count] of unique) {
      const found = look(key, content, now);
      if (found === "conflict") conflicts.push(event);
      if (found !== "duplicate") continue;
      duplicates.push(event);
      lines.fill(0, firstPlace, firstPlace + count);
    }
    return { duplicates, conflicts };
  }

  /** Makes jobs of some events. Fresh ones need no row: the mark names them. */
  function make({ states, lines: text, extras, account, subscription }: NewJobs, origin: Origin): Made {
    const { delivery, firstJob, receivedAt, at } = origin;
    if (extras === null && isFresh(states)) {
      for (let place = 0; place < states.length; place += 1) state.mark.add(firstJob + place, at, true);
      state.add("open", states.length);
      return { list: text, seen: undefined };
    }
    const lines = JSON.parse(text) as (Line | 0)[];
    const { unique = [], notices = [] } = extras === null ? {} : (JSON.parse(extras) as Extras);
    const seen = dedupe(unique, lines, at);
    subscriptions.note(notices, origin);
    for (const [place, line] of lines.entries()) {
      if (line === 0) continue;
      const job = { id: firstJob + place, delivery, account, subscription, receivedAt, line };
      if (states[place] === STATE.waiting) jobs.insert(job, null);
      if (states[place] === STATE.unhandled) jobs.insertUnhandled(job, at);
      if (states[place] !== STATE.fresh) continue;
      state.mark.add(job.id, at, true);
      state.add("open", 1);
    }
    return seen.duplicates.length === 0 ? { list: text, seen } : { list: JSON.stringify(lines), seen };
  }

  function isRepeated(idInQueue: string | null, at: number): boolean {
    if (idInQueue === null) return false;
    const key = hash(`delivery ${idInQueue}`);
    if (sql.seen.get(key, at - dedupeWindowMs) !== undefined) return true;
    sql.remember.run(key, at);
    return false;
  }

  /** @returns what was seen before; null where it waits to be expanded */
  function insert(record: DeliveryRecord, at: number): Seen | undefined | null {
    const { receivedAt, sentAt, source, signedBy, signature, headers, body } = record;
    // Expansion follows ids: what comes behind one that waits for it waits as well.
    const given = state.has("unexpanded") ? null : record.jobs;
    const delivery = state.nextId(1 + (given?.states.length ?? 0));
    const origin = { delivery, firstJob: delivery + 1, receivedAt, sentAt, source, at };
    const made = given === null ? undefined : make(given, origin);
    const [account, subscription] = [given?.account ?? null, given?.subscription ?? null];
    sql.insert.run(
      delivery, receivedAt, sentAt, source, signedBy, signature, headers, account, subscription, made?.list ?? null, body,
    ); // prettier-ignore
    if (made !== undefined) return made.seen;
    sql.insertUnexpanded.run(delivery);
    state.add("unexpanded", 1);
    return null;
  }

  return {
    store({ at, ...where }, bytes) {
      const firstId = state.lastId + 1;
      const seen: (readonly [number, Seen])[] = [];
      const repeated: number[] = [];
      let expanded: number | undefined;
      let place = 0;
      for (const record of readDeliveries(bytes, where)) {
        if (isRepeated(record.idInQueue, at)) repeated.push(place);
        else {
          const found = insert(record, at);
          if (found === null) expanded ??= place;
          if (found && found.duplicates.length + found.conflicts.length > 0) seen.push([place, found]);
        }
        place += 1;
      }
      return { firstId, expanded: expanded ?? place, seen, repeated };
    },
    expand({ id, from, cursor, at, ...given }) {
      // Erased in the meantime, or expanded by a commit whose outcome was not known: nothing is made of it.
      const stands = sql.cursor.get(id)?.["cursor"];
      const stored = stands === undefined || (from ?? stands) !== stands ? undefined : sql.origin.get(id);
      if (stored === undefined || sql.oldest.get(id)?.["isOldest"] !== 1) return undefined;
      const { receivedAt, sentAt, source } = stored as unknown as Pick<Origin, "receivedAt" | "sentAt" | "source">;
      const firstJob = state.nextId(given.states.length);
      const { list, seen } = make(given, { delivery: id, firstJob, receivedAt, sentAt, source, at });
      const { account, subscription } = given;
      if (given.states !== "") lists.add({ first: firstJob, delivery: id, account, subscription, list });
      if (cursor === undefined) {
        sql.removeUnexpanded.run(id);
        state.add("unexpanded", -1);
      } else sql.advance.run(cursor, id);
      return { firstJob, receivedAt, duplicates: seen?.duplicates ?? [], conflicts: seen?.conflicts ?? [] };
    },
    deliveries: (wanted) => wanted.flatMap((id) => (sql.delivery.get(id) as unknown as DeliveryRow | undefined) ?? []),
    unexpanded(max) {
      const { page, isCut } = pageOf(rowsOf<UnexpandedRow>(sql.unexpanded, max));
      return { rows: page, hasUnusable: !isCut && page.length < Math.min(max, state.counts().unexpanded) };
    },
  };
}

function isFresh(states: string): boolean {
  for (let place = 0; place < states.length; place += 1) if (states[place] !== STATE.fresh) return false;
  return true;
}

function hash(text: string): Uint8Array {
  return createHash("sha256").update(text).digest().subarray(0, 16);
}

function pageOf(rows: Iterable<UnexpandedRow>): { readonly page: UnexpandedRow[]; readonly isCut: boolean } {
  const page: UnexpandedRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += row.body.byteLength;
    if (page.length > 0 && bytes > PAGE_BYTES) return { page, isCut: true };
    page.push(row);
  }
  return { page, isCut: false };
}
