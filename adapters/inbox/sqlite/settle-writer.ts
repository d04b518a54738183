import type { DatabaseSync } from "node:sqlite";
import type { Counters } from "./counters.ts";
import type { SettleRecord } from "./messages.ts";

/** Writes what became of a job. Told twice it changes nothing more: a commit's outcome may be unknown. */
export function settleWriter(db: DatabaseSync, counters: Counters): (record: SettleRecord) => void {
  const remove = db.prepare("DELETE FROM job WHERE id = ?");
  const retry = db.prepare(
    "UPDATE job SET attempts = ?, deaths = ?, first_attempt_at = ?, run_at = ?, delay_ms = ?, error = ? WHERE id = ?",
  );
  const bury = db.prepare(
    `INSERT OR IGNORE INTO dead
       SELECT job.id, ?, job.delivery, job.entry, job.type, job.consumer, job.lane, job.merge_key, ?, ?, job.replay_of, ?,
         delivery.received_at, sent_at, source, signed_by, signature, headers, account, subscription, body
       FROM job JOIN delivery ON delivery.id = job.delivery WHERE job.id = ?`,
  );

  return (record) => {
    if (record.to === "waiting") {
      const { attempts, deaths, firstAttemptAt, runAt, delayMs, error, id } = record;
      retry.run(attempts, deaths, firstAttemptAt, runAt, delayMs, error, id);
      return;
    }
    if (record.to !== "done") {
      const buried = bury.run(record.to, record.attempts, record.error, record.settledAt, record.id);
      counters.add(record.to, Number(buried.changes));
    }
    counters.add("unsettled", -Number(remove.run(record.id).changes));
  };
}
