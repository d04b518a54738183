import type { DatabaseSync } from "node:sqlite";
import type { Counters } from "./counters.ts";
import type { JobLists } from "./job-lists.ts";
import { jobWriter, type Listed } from "./job-writer.ts";
import type { ExpandRecord, KeepRecord, Made } from "./messages.ts";

/** What comes in, and what is made of it. */
export interface Intake {
  keep(record: KeepRecord, bytes: Uint8Array): Made & { readonly id: number; readonly expanded: boolean };
  /** Undefined where there is nothing to expand any more. */
  expand(record: ExpandRecord): (Made & { readonly receivedAt: number }) | undefined;
}

export interface IntakeParts {
  readonly lists: JobLists;
  readonly counters: Counters;
  /** How long a natural key is remembered. */
  readonly dedupeWindowMs: number;
}

export function createIntake(db: DatabaseSync, { lists, counters, dedupeWindowMs }: IntakeParts): Intake {
  const jobs = jobWriter(db, counters, dedupeWindowMs);
  const sql = {
    open: db.prepare("SELECT id FROM delivery WHERE cursor IS NOT NULL LIMIT 1"),
    keep: db.prepare("INSERT INTO delivery VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    row: db.prepare("SELECT jobs, cursor, received_at AS receivedAt FROM delivery WHERE id = ?"),
    grow: db.prepare(
      `UPDATE delivery SET cursor = ?, account = coalesce(account, ?), subscription = coalesce(subscription, ?), jobs = ?
       WHERE id = ?`,
    ),
  };

  return {
    keep({ delivery, offset, length, events, at }, bytes) {
      const { receivedAt, sentAt, source = null, signedBy, signature, headers } = delivery;
      const id = counters.nextId();
      // Expansion follows ids: what comes behind one that waits for it waits as well.
      const expanded = events !== undefined && sql.open.get() === undefined;
      const made = expanded ? jobs.write({ id, receivedAt, at }, events) : NOTHING;
      const body = bytes.subarray(offset, offset + length);
      const { accountId = null, subscription = null } = events?.[0] ?? {};
      sql.keep.run(
        id, receivedAt, sentAt, source, signedBy, signature, headers, accountId, subscription, body, expanded ? null : 0,
        JSON.stringify(made.list),
      ); // prettier-ignore
      if (expanded) jobs.writeUnhandled(id, made.unhandled);
      else counters.add("unexpanded", 1);
      return { id, expanded, duplicates: made.duplicates, conflicts: made.conflicts, ids: made.ids };
    },
    expand({ id, events, cursor, at }) {
      const row = sql.row.get(id);
      // Erased in the meantime, or expanded by a commit whose outcome was not known: nothing is made of it.
      if (row === undefined || row["cursor"] === null) return undefined;
      const receivedAt = Number(row["receivedAt"]);
      const made = jobs.write({ id, receivedAt, at }, events);
      const list = [...(JSON.parse(String(row["jobs"])) as Listed[]), ...made.list];
      const { accountId = null, subscription = null } = events[0] ?? {};
      sql.grow.run(cursor ?? null, accountId, subscription, JSON.stringify(list), id);
      lists.madeLater(id, made.list);
      jobs.writeUnhandled(id, made.unhandled);
      if (cursor === undefined) counters.add("unexpanded", -1);
      return { duplicates: made.duplicates, conflicts: made.conflicts, ids: made.ids, receivedAt };
    },
  };
}

const NOTHING = { duplicates: [], conflicts: [], ids: [], list: [], unhandled: [] };
