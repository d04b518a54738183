import type { DatabaseSync } from "node:sqlite";
import type { DeliveryRecord, ExpandRecord, Made, StoredRecord } from "../client/thread-protocol.ts";
import type { JobLists } from "./job-lists.ts";
import { jobWriter, type JobWriterDeps, type Listed } from "./job-writer.ts";
import type { SubscriptionTable } from "./subscription-table.ts";

/** What comes in, and what is made of it. */
export interface DeliveryWriter {
  insert(record: DeliveryRecord, body: Uint8Array): StoredRecord;
  /** Undefined where there is nothing to expand any more. */
  expand(record: ExpandRecord): (Made & { readonly receivedAt: number }) | undefined;
}

export interface DeliveryWriterDeps extends JobWriterDeps {
  readonly lists: JobLists;
  readonly subscriptions: Pick<SubscriptionTable, "note">;
}

export function createDeliveryWriter(
  db: DatabaseSync,
  { lists, subscriptions, ...parts }: DeliveryWriterDeps,
): DeliveryWriter {
  const { counters } = parts;
  const jobs = jobWriter(db, parts);
  const sql = {
    keep: db.prepare("INSERT INTO delivery VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    row: db.prepare(
      "SELECT jobs, cursor, received_at AS receivedAt, sent_at AS sentAt, source FROM delivery WHERE id = ?",
    ),
    grow: db.prepare(
      `UPDATE delivery SET cursor = ?, account = coalesce(account, ?), subscription = coalesce(subscription, ?), jobs = ?
       WHERE id = ?`,
    ),
  };

  return {
    insert([receivedAt, sentAt, source, signedBy, signature, headers, at, events], body) {
      const id = counters.nextId();
      // Expansion follows ids: what comes behind one that waits for it waits as well.
      const made =
        events === null || counters.has("unexpanded") ? undefined : jobs.write({ id, receivedAt, at }, events);
      const [, , accountId = null, subscription = null] = events?.[0] ?? [];
      sql.keep.run(
        id, receivedAt, sentAt, source, signedBy, signature, headers, accountId, subscription, body,
        made === undefined ? 0 : null, made === undefined ? "[]" : JSON.stringify(made.list),
      ); // prettier-ignore
      if (made === undefined) {
        counters.add("unexpanded", 1);
        return [id, false];
      }
      jobs.writeUnhandled(id, made.unhandled);
      subscriptions.note(events ?? [], { source, sentAt });
      const { duplicates, conflicts } = made;
      return duplicates.length + conflicts.length === 0 ? [id, true] : [id, true, duplicates, conflicts];
    },
    expand({ id, events, cursor, at }) {
      const row = sql.row.get(id);
      // Erased in the meantime, or expanded by a commit whose outcome was not known: nothing is made of it.
      if (row === undefined || row["cursor"] === null) return undefined;
      const receivedAt = Number(row["receivedAt"]);
      const made = jobs.write({ id, receivedAt, at }, events);
      const list = [...(JSON.parse(String(row["jobs"])) as Listed[]), ...made.list];
      const [, , accountId = null, subscription = null] = events[0] ?? [];
      sql.grow.run(cursor ?? null, accountId, subscription, JSON.stringify(list), id);
      lists.madeLater(id, made.list);
      jobs.writeUnhandled(id, made.unhandled);
      subscriptions.note(events, { source: row["source"] as string | null, sentAt: Number(row["sentAt"]) });
      if (cursor === undefined) counters.add("unexpanded", -1);
      return { firstJob: made.firstJob, duplicates: made.duplicates, conflicts: made.conflicts, receivedAt };
    },
  };
}
