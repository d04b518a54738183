import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { ErroredSubscription, KnownSubscription, LifecycleNotice } from "../../../../src/adapter.ts";
import { isNumber, toNumber } from "./columns.ts";
import type { NoticeRecord } from "../thread/records.ts";

/** What lifecycle notices said of subscriptions, in the file. */
export interface SubscriptionTable {
  /** Of events of one delivery. An older notice than the last changes nothing. */
  note(notices: readonly NoticeRecord[], origin: NoticeOrigin): void;
  /** Learnt without a delivery. */
  noteSubscription(notice: LifecycleNotice & { readonly source: string | undefined; readonly sentAt: number }): void;
  /** Without a source: of every source. */
  forgetSubscription(which: { readonly subscription: number; readonly source: string | undefined }): void;
  /** @returns how many notices there were */
  forgetAccount(accountId: number): number;
  /** Those in trouble, in the order of their last notice. */
  erroredSubscriptions(): ErroredSubscription[];
  /** All, in the same order. */
  knownSubscriptions(): KnownSubscription[];
}

interface NoticeOrigin {
  readonly source: string | null;
  readonly sentAt: number;
}

/** Beyond it those that work are forgotten first, then the oldest. */
const MOST = 1_000;

export function createSubscriptionTable(db: DatabaseSync): SubscriptionTable {
  const readable = /* sql */ `SELECT subscription, account, resource, source, error, ${toNumber("sent_at")} AS sentAt FROM subscription
    WHERE ${isNumber("subscription")} AND ${isNumber("account")}`;
  const sql = {
    newer: db.prepare("SELECT 1 FROM subscription WHERE key = ? AND sent_at > ?"),
    // A repeated notice goes to the end.
    note: db.prepare("INSERT OR REPLACE INTO subscription VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"),
    trim: db.prepare(
      `DELETE FROM subscription WHERE seq IN (SELECT seq FROM subscription ORDER BY error IS NULL, seq DESC LIMIT -1 OFFSET ${MOST})`,
    ),
    forget: db.prepare("DELETE FROM subscription WHERE subscription = ? AND source = ?"),
    forgetAll: db.prepare("DELETE FROM subscription WHERE subscription = ?"),
    forgetAccount: db.prepare("DELETE FROM subscription WHERE account = ?"),
    errored: db.prepare(`${readable} AND error IS NOT NULL ORDER BY seq`),
    known: db.prepare(`${readable} ORDER BY seq`),
  };

  function note(notices: readonly NoticeRecord[], { source, sentAt }: NoticeOrigin): void {
    for (const [accountId, subscription, resource, error] of notices) {
      const key = JSON.stringify([source, subscription, resource]);
      if (sql.newer.get(key, sentAt) !== undefined) continue;
      sql.note.run(key, subscription, accountId, resource, source, error, sentAt);
      sql.trim.run();
    }
  }

  return {
    note,
    noteSubscription({ subscription, accountId, resource, error = null, source = null, sentAt }) {
      note([[accountId, subscription, resource, error]], { source, sentAt });
    },
    forgetSubscription({ subscription, source }) {
      if (source === undefined) sql.forgetAll.run(subscription);
      else sql.forget.run(subscription, source);
    },
    forgetAccount: (accountId) => Number(sql.forgetAccount.run(accountId).changes),
    erroredSubscriptions: () =>
      sql.errored.all().map((row) => Object.assign(toKnown(row), { error: String(row["error"]) })),
    knownSubscriptions: () =>
      sql.known.all().map((row) => Object.assign(toKnown(row), { sentAt: Number(row["sentAt"]) })),
  };
}

function toKnown(row: Readonly<Record<string, SQLOutputValue>>): KnownSubscription {
  return {
    subscription: Number(row["subscription"]),
    accountId: Number(row["account"]),
    resource: String(row["resource"]),
    source: textOf(row["source"]),
    error: textOf(row["error"]),
  };
}

function textOf(value: SQLOutputValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
