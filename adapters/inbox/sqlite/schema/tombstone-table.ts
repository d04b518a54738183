import type { DatabaseSync } from "node:sqlite";
import type { Tombstone } from "../../../../src/adapter.ts";
import type { FileState } from "../thread/file-state.ts";
import { isNumber } from "./columns.ts";
import type { SubscriptionTable } from "./subscription-table.ts";

/** Tombstones in the file. Times in milliseconds since the epoch. */
export interface TombstoneTable {
  putTombstone(tombstone: Tombstone): void;
  /** It was met: it stays for longer. */
  hitTombstone(tombstone: Tombstone): void;
  /** Without a source: all of the subscription. */
  liftTombstone(which: { readonly subscription: number; readonly source: string | undefined }): void;
  /** With the version of the table. */
  tombstones(): readonly [version: number, all: readonly Tombstone[]];
}

export interface TombstoneTableDeps {
  readonly state: FileState;
  /** An unwanted one is in no trouble any more: no `active` will come. */
  readonly subscriptions: Pick<SubscriptionTable, "forgetSubscription">;
}

export function createTombstoneTable(db: DatabaseSync, { state, subscriptions }: TombstoneTableDeps): TombstoneTable {
  const sql = {
    put: db.prepare("INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?, ?, ?, ?)"),
    hit: db.prepare(
      "UPDATE tombstone SET last_hit = max(last_hit, ?) WHERE subscription = ? AND any_source = ? AND source = ?",
    ),
    lift: db.prepare("DELETE FROM tombstone WHERE subscription = ? AND any_source = 0 AND source = ?"),
    liftAll: db.prepare("DELETE FROM tombstone WHERE subscription = ?"),
    all: db.prepare(
      `SELECT * FROM tombstone WHERE ${["subscription", "any_source", "since", "last_hit"].map(isNumber).join(" AND ")}`,
    ),
  };
  return {
    putTombstone({ subscription, source, reason, since, lastHit }) {
      state.add("tombstones", 1);
      sql.put.run(subscription, source ?? "", source === undefined ? 1 : 0, reason, since, lastHit);
      subscriptions.forgetSubscription({ subscription, source });
    },
    hitTombstone({ subscription, source, lastHit }) {
      sql.hit.run(lastHit, subscription, source === undefined ? 1 : 0, source ?? "");
    },
    liftTombstone({ subscription, source }) {
      state.add("tombstones", 1);
      if (source === undefined) sql.liftAll.run(subscription);
      else sql.lift.run(subscription, source);
    },
    tombstones: () => [
      state.counts().tombstones,
      sql.all.all().map((row) => ({
        subscription: Number(row["subscription"]),
        source: row["any_source"] === 1 ? undefined : String(row["source"]),
        reason: String(row["reason"]),
        since: Number(row["since"]),
        lastHit: Number(row["last_hit"]),
      })),
    ],
  };
}
