import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { NewJob } from "../../../../src/adapter.ts";
import type { EventRecord, Made, SettleRecord } from "../client/thread-protocol.ts";
import type { Counters } from "./counters.ts";
import { createWindowTable } from "./lane-window-table.ts";
import type { OwnerEpoch } from "./owner-epoch.ts";

/** A job as its delivery lists it; `skipped` is 1 where it was. */
export type Listed = readonly [
  id: number,
  entry: number,
  type: string,
  consumer: string | null,
  lane: string | null,
  mergeKey: string | null,
  skipped: 0 | 1,
];

interface Unhandled {
  readonly id: number;
  readonly entry: number;
  readonly type: string;
}

/** What some events came to. */
interface Written extends Made {
  readonly list: readonly Listed[];
  /** To be written when their delivery is. */
  readonly unhandled: readonly Unhandled[];
}

export interface JobWriterDeps {
  readonly counters: Counters;
  /** How long a natural key is remembered. */
  readonly dedupeWindowMs: number;
  /** It may run as soon as it is made. */
  readonly markMade: OwnerEpoch["markMade"];
}

/** Makes jobs of events. */
export interface JobWriter {
  write(
    origin: { readonly id: number; readonly receivedAt: number; readonly at: number },
    events: readonly EventRecord[],
  ): Written;
  /** Their rows carry a copy of the delivery, which has to be there. */
  writeUnhandled(delivery: number, jobs: readonly Unhandled[]): void;
}

export function jobWriter(db: DatabaseSync, { counters, dedupeWindowMs, markMade }: JobWriterDeps): JobWriter {
  const sql = {
    job: db.prepare(
      `INSERT INTO job (id, delivery, entry, type, consumer, lane, merge_key, received_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    unhandled: db.prepare(
      `INSERT INTO dead
         SELECT ?, 'unhandled', id, ?, ?, NULL, NULL, NULL, 0, NULL, NULL, received_at, received_at, sent_at, source, signed_by,
           signature, headers, account, subscription, body
         FROM delivery WHERE id = ?`,
    ),
    seen: db.prepare("SELECT 1 FROM dedupe WHERE key = ? AND seen_at > ?"),
    remember: db.prepare(
      "INSERT INTO dedupe VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET seen_at = max(seen_at, excluded.seen_at)",
    ),
  };

  /** The same key with other content is no duplicate. Both are remembered. */
  function look([key, content]: readonly [string, string], now: number): "new" | "duplicate" | "conflict" {
    const [natural, whole] = [hash(key), hash(`${key}\n${content}`)];
    const since = now - dedupeWindowMs;
    if (sql.seen.get(whole, since) !== undefined) return "duplicate";
    const conflict = sql.seen.get(natural, since) !== undefined;
    sql.remember.run(natural, now);
    sql.remember.run(whole, now);
    return conflict ? "conflict" : "new";
  }

  return {
    write({ id: delivery, receivedAt, at }, events) {
      const [duplicates, conflicts]: [number[], number[]] = [[], []];
      const [list, unhandled]: [Listed[], Unhandled[]] = [[], []];
      const firstJob = counters.lastId() + 1;
      for (const [index, [entry, type, , , unique, jobs]] of events.entries()) {
        const seen = unique === null ? "new" : look(unique, at);
        if (seen === "duplicate") duplicates.push(index);
        if (seen === "duplicate") continue;
        if (seen === "conflict") conflicts.push(index);
        for (const [state, consumer, lane, mergeKey, isSpeculative] of jobs) {
          const id = counters.nextId();
          list.push([id, entry, type, consumer, lane, mergeKey, state === "skipped" ? 1 : 0]);
          if (state === "unhandled") unhandled.push({ id, entry, type });
          if (state !== "waiting") continue;
          sql.job.run(id, delivery, entry, type, consumer, lane, mergeKey, receivedAt);
          counters.add("unsettled", 1);
          if (isSpeculative === true) markMade(id);
        }
      }
      return { firstJob, duplicates, conflicts, list, unhandled };
    },
    writeUnhandled(delivery, jobs) {
      for (const { id, entry, type } of jobs) sql.unhandled.run(id, entry, type, delivery);
      counters.add("unhandled", jobs.length);
    },
  };
}

/** A new job's line in its delivery. */
export function toListed(
  id: number,
  { entry, type }: { readonly entry: number; readonly type: string },
  { consumer, lane, mergeKey, state }: NewJob,
): Listed {
  return [id, entry, type, consumer ?? null, lane ?? null, mergeKey ?? null, state === "skipped" ? 1 : 0];
}

function hash(text: string): Uint8Array {
  return createHash("sha256").update(text).digest().subarray(0, 16);
}

/** Writes what became of jobs. Told twice it changes nothing more: a commit's outcome may be unknown. */
export function settleWriter(db: DatabaseSync, counters: Counters): (record: SettleRecord) => void {
  const remove = db.prepare("DELETE FROM job WHERE id = ?");
  const retry = db.prepare(
    "UPDATE job SET attempts = ?, deaths = ?, group_max = ?, first_attempt_at = ?, run_at = ?, delay_ms = ?, error = ? WHERE id = ?",
  );
  const moveToDead = db.prepare(
    `INSERT OR IGNORE INTO dead
       SELECT job.id, ?, job.delivery, job.entry, job.type, job.consumer, job.lane, job.merge_key, ?, ?, job.replay_of, ?,
         delivery.received_at, sent_at, source, signed_by, signature, headers, account, subscription, body
       FROM job JOIN delivery ON delivery.id = job.delivery WHERE job.id = ?`,
  );

  const { writeWindow } = createWindowTable(db);

  function end(id: number): void {
    counters.add("unsettled", -Number(remove.run(id).changes));
  }

  return ({ done, others, windows }) => {
    for (const window of windows) writeWindow(window);
    for (const id of done) end(id);
    for (const other of others) {
      if (other.to === "waiting") {
        const { attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error, id } = other;
        retry.run(attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error, id);
        continue;
      }
      const { id, to, attempts, error, settledAt } = other;
      counters.add(to, Number(moveToDead.run(to, attempts, error, settledAt, id).changes));
      end(id);
    }
  };
}
