import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Gap, GapCount, GapQuery, Gaps, SubscribedResource } from "../../../../src/adapter.ts";
import { isNumber, isNumberOrNull } from "./columns.ts";

/** Resources that deliveries came for, and their gaps, in the file. Times in milliseconds since the epoch. */
export interface GapTable {
  seeResources(seen: { readonly resources: readonly SubscribedResource[]; readonly at: number }): void;
  /** Without a source: of every source. */
  forgetResources(which: SubscriptionKey): void;
  resourcesOf(which: SubscriptionKey): SubscribedResource[];
  /** @returns how many resources there were */
  forgetAccount(accountId: number): number;
  addGaps(gaps: readonly Gap[]): void;
  findGaps(query: GapQuery): Awaited<ReturnType<Gaps["find"]>>;
  countGaps(): GapCount[];
  removeGaps(gaps: readonly Gap[]): void;
  /** @returns the time of the last mark where it is older than `afterMs` */
  markAlive(mark: AliveMark): number | undefined;
}

interface SubscriptionKey {
  readonly subscription: number;
  readonly source: string | undefined;
}

interface AliveMark {
  readonly at: number;
  readonly afterMs: number;
  /** How long a resource without a gap is known after it was seen. */
  readonly lifeMs: number;
}

type Row = Readonly<Record<string, SQLOutputValue>>;

const RESOURCE = "source, subscription, account, resource, family";
const IS_RESOURCE = `${isNumber("subscription")} AND ${isNumber("account")}`;
const IS_GAP = `${IS_RESOURCE} AND ${isNumber("from_at")} AND ${isNumberOrNull("until_at")}`;

/** A gap joins the one that the row has. Of an error that ended early, and of one that was not told, the end tells. */
const JOINED = `
  cause = CASE WHEN from_at IS NULL OR :until IS NULL THEN :cause ELSE cause END,
  from_at = min(ifnull(from_at, :from), :from, CASE WHEN :cause = 'errored' AND :until IS NOT NULL AND told_at > 0 THEN told_at ELSE :from END),
  until_at = CASE WHEN :until IS NULL OR (from_at IS NOT NULL AND until_at IS NULL AND (:cause = 'silent' OR :until < told_at)) THEN NULL
    ELSE max(ifnull(until_at, :until), :until) END`;

export function createGapTable(db: DatabaseSync): GapTable {
  const sql = {
    see: db.prepare(/* sql */ `INSERT INTO subscribed_resource (${RESOURCE}, seen_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (account, resource, subscription, ifnull(source, 0)) DO UPDATE SET seen_at = excluded.seen_at WHERE excluded.seen_at > seen_at`),
    forget: db.prepare("DELETE FROM subscribed_resource WHERE subscription = ? AND source = ?"),
    forgetAll: db.prepare("DELETE FROM subscribed_resource WHERE subscription = ?"),
    forgetAccount: db.prepare("DELETE FROM subscribed_resource WHERE account = ?"),
    forgetUnseen: db.prepare("DELETE FROM subscribed_resource WHERE from_at IS NULL AND seen_at < ?"),
    known: db.prepare(
      `SELECT ${RESOURCE} FROM subscribed_resource WHERE subscription = :subscription AND (:source IS NULL OR source = :source) AND ${IS_RESOURCE} ORDER BY id`,
    ),
    add: db.prepare(/* sql */ `UPDATE subscribed_resource SET ${JOINED}, told_at = CASE :cause WHEN 'errored' THEN ifnull(:until, :from) ELSE told_at END
       WHERE account = :account AND resource = :resource AND subscription = :subscription AND source IS :source
         AND (:cause <> 'errored' OR told_at < :from OR told_at <= :until)`),
    addToAll: db.prepare(`UPDATE subscribed_resource SET ${JOINED}, seen_at = min(seen_at + :until - :from, :until)`),
    find: db.prepare(/* sql */ `SELECT id, ${RESOURCE}, cause, from_at, until_at FROM subscribed_resource
       WHERE id > :after AND from_at IS NOT NULL AND ${IS_GAP} AND (:account IS NULL OR account = :account) AND (NOT :hasEnded OR until_at IS NOT NULL)
         AND (:families IS NULL OR family IN (SELECT value FROM json_each(:families))) ORDER BY id LIMIT :limit`),
    count:
      db.prepare(/* sql */ `SELECT family, count(*) AS count, sum(until_at IS NULL) AS open, min(from_at) AS from_at, max(until_at) AS until_at
       FROM subscribed_resource WHERE from_at IS NOT NULL AND ${IS_GAP} GROUP BY family`),
    remove: db.prepare(/* sql */ `UPDATE subscribed_resource SET cause = NULL, from_at = NULL, until_at = NULL
       WHERE account = :account AND resource = :resource AND source IS :source AND (:until IS NULL OR until_at <= :until)`),
    markedAt: db.prepare(`SELECT value FROM meta WHERE key = 'alive' AND ${isNumber("value")}`),
    mark: db.prepare("INSERT OR REPLACE INTO meta VALUES ('alive', ?)"),
  };

  function see(one: SubscribedResource, at: number): void {
    sql.see.run(one.source ?? null, one.subscription, one.accountId, one.resource, one.family, at);
  }

  return {
    seeResources({ resources, at }) {
      for (const one of resources) see(one, at);
    },
    forgetResources({ subscription, source }) {
      if (source === undefined) sql.forgetAll.run(subscription);
      else sql.forget.run(subscription, source);
    },
    resourcesOf: ({ subscription, source = null }) => sql.known.all({ subscription, source }).map(toResource),
    forgetAccount: (accountId) => Number(sql.forgetAccount.run(accountId).changes),
    addGaps(gaps) {
      for (const gap of gaps) {
        const { source = null, subscription, accountId: account, resource, cause, from, until = null } = gap;
        see(gap, until ?? from);
        sql.add.run({ source, subscription, account, resource, cause, from, until });
      }
    },
    findGaps({ families, accountId, hasEnded = false, after = "0", limit }) {
      const rows = sql.find.all({
        after: Number(after),
        account: accountId ?? null,
        hasEnded: hasEnded ? 1 : 0,
        families: families === undefined ? null : JSON.stringify(families),
        limit: limit + 1,
      });
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return { gaps: page.map(toGap), ...(last === undefined ? {} : { next: String(last["id"]) }) };
    },
    countGaps: () =>
      sql.count.all().map((row) => ({
        family: String(row["family"]),
        count: Number(row["count"]),
        open: Number(row["open"]),
        from: Number(row["from_at"]),
        until: timeOf(row["until_at"]),
      })),
    removeGaps(gaps) {
      for (const { source = null, accountId: account, resource, until = null } of gaps)
        sql.remove.run({ source, account, resource, until });
    },
    markAlive({ at, afterMs, lifeMs }) {
      const before = timeOf(sql.markedAt.get()?.["value"]);
      sql.mark.run(at);
      if (before === undefined) return undefined;
      sql.forgetUnseen.run(Math.min(before, at) - lifeMs);
      if (at - before <= afterMs) return undefined;
      sql.addToAll.run({ cause: "down", from: before, until: at });
      return before;
    },
  };
}

function toResource(row: Row): SubscribedResource {
  const source = row["source"];
  return {
    source: typeof source === "string" ? source : undefined,
    subscription: Number(row["subscription"]),
    accountId: Number(row["account"]),
    resource: String(row["resource"]),
    family: String(row["family"]),
  };
}

function toGap(row: Row): Gap {
  const [cause, from, until] = [row["cause"] as Gap["cause"], Number(row["from_at"]), timeOf(row["until_at"])];
  return { ...toResource(row), cause, from, until };
}

function timeOf(value: SQLOutputValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
