import type { DatabaseSync } from "node:sqlite";
import type { Counters } from "./counters.ts";
import type { SettleRecord } from "../client/messages.ts";
import { createWindowTable } from "./window-table.ts";

/** Writes what became of jobs. Told twice it changes nothing more: a commit's outcome may be unknown. */
export function settleWriter(db: DatabaseSync, counters: Counters): (record: SettleRecord) => void {
  const remove = db.prepare("DELETE FROM job WHERE id = ?");
  const retry = db.prepare(
    "UPDATE job SET attempts = ?, deaths = ?, group_max = ?, first_attempt_at = ?, run_at = ?, delay_ms = ?, error = ? WHERE id = ?",
  );
  const bury = db.prepare(
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
      counters.add(to, Number(bury.run(to, attempts, error, settledAt, id).changes));
      end(id);
    }
  };
}
