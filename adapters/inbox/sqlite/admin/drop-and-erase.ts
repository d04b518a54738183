import type { DatabaseSync } from "node:sqlite";
import type { Counters } from "../thread/counters.ts";
import type { JobLists } from "../thread/job-lists.ts";
import type { Listed } from "../thread/job-writer.ts";
import type { SubscriptionTable } from "../thread/subscription-table.ts";

/** Deletes jobs for admin requests. Missing jobs are skipped. */
export interface DropAndErase {
  /** Takes what is not settled and does not run, and dead and unhandled ones. @returns those that were there */
  drop(ids: readonly number[], options: { readonly nobodyWorks: boolean }): number[];
  /** Jobs and deliveries of an account, some of those with ids above `after` and up to `until`. */
  erase(range: { readonly accountId: number; readonly after: number; readonly until: number }): Erased;
}

/** What was erased in one go. */
interface Erased {
  readonly jobs: readonly number[];
  readonly unexpanded: number;
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

export interface DropAndEraseParts {
  readonly lists: JobLists;
  readonly counters: Counters;
  readonly subscriptions: Pick<SubscriptionTable, "forgetAccount">;
}

/** Ids looked at in one go, and rows found there. */
const RANGE = 20_000;
const ROWS = 200;

export function createDropAndErase(
  db: DatabaseSync,
  { lists, counters, subscriptions }: DropAndEraseParts,
): DropAndErase {
  const sql = {
    running: db.prepare("SELECT running FROM owner"),
    mark: db.prepare("UPDATE owner SET running = ?"),
    removeJob: db.prepare("DELETE FROM job WHERE id = ? RETURNING delivery"),
    removeDead: db.prepare("DELETE FROM dead WHERE id = ? RETURNING delivery, state"),
    deliveriesOf: db.prepare(
      `SELECT id, jobs, cursor FROM delivery WHERE id > ? AND id <= ? AND (account = ? OR (account IS NULL AND cursor IS NOT NULL))
       ORDER BY id LIMIT ${ROWS}`,
    ),
    body: db.prepare("SELECT body FROM delivery WHERE id = ?"),
    removeDelivery: db.prepare("DELETE FROM delivery WHERE id = ?"),
    deadOf: db.prepare(`SELECT id FROM dead WHERE id > ? AND id <= ? AND account = ? ORDER BY id LIMIT ${ROWS}`),
  };

  const marked = (): Record<string, number> =>
    JSON.parse(String(sql.running.get()?.["running"])) as Record<string, number>;

  /** @returns its delivery; undefined where it was not there */
  function remove(id: number): number | undefined {
    const job = sql.removeJob.get(id) as { readonly delivery: number } | undefined;
    if (job !== undefined) counters.add("unsettled", -1);
    const dead = sql.removeDead.get(id) as { readonly delivery: number; readonly state: DeadState } | undefined;
    if (dead !== undefined) counters.add(dead.state, -1);
    return (job ?? dead)?.delivery;
  }

  /** Deleted jobs no longer count as running, even if no worker is left to say so. */
  function unmark(gone: readonly number[]): void {
    const running = marked();
    const ended = gone.filter((id) => running[id] !== undefined);
    if (ended.length === 0) return;
    for (const id of ended) delete running[id];
    sql.mark.run(JSON.stringify(running));
    counters.add("running", -ended.length);
  }

  return {
    drop(wanted, { nobodyWorks }) {
      const running = nobodyWorks ? {} : marked();
      const byDelivery = new Map<number, Set<number>>();
      const dropped = wanted.filter((id) => {
        const delivery = running[id] === undefined ? remove(id) : undefined;
        if (delivery === undefined) return false;
        byDelivery.set(delivery, (byDelivery.get(delivery) ?? new Set()).add(id));
        return true;
      });
      for (const [delivery, jobs] of byDelivery) lists.remove(delivery, jobs);
      unmark(dropped);
      return dropped;
    },
    erase({ accountId, after, until }) {
      subscriptions.forgetAccount(accountId);
      const end = Math.min(after + RANGE, until);
      // Dead ones carry their account, and outlive their delivery.
      const dead = idsOf(sql.deadOf.all(after, end, accountId));
      const rows = sql.deliveriesOf.all(after, lastOf(dead, end), accountId);
      const last = lastOf(idsOf(rows), lastOf(dead, end));
      const jobs = new Set(dead.filter((id) => id <= last && remove(id) !== undefined));
      let unexpanded = 0;
      for (const row of rows) {
        const id = Number(row["id"]);
        const isOpen = row["cursor"] !== null;
        if (isOpen && accountOf(sql.body.get(id)?.["body"] as Uint8Array) !== accountId) continue;
        for (const [job] of JSON.parse(String(row["jobs"])) as Listed[]) if (remove(job) !== undefined) jobs.add(job);
        if (isOpen) unexpanded += 1;
        sql.removeDelivery.run(id);
      }
      counters.add("unexpanded", -unexpanded);
      unmark([...jobs]);
      return { jobs: [...jobs], unexpanded, next: last < until ? last : undefined };
    },
  };
}

type DeadState = "dead" | "unhandled";

function idsOf(rows: readonly Record<string, unknown>[]): number[] {
  return rows.map((row) => Number(row["id"]));
}

/** The last of as many as are read at once: what is behind it has not been looked at. */
function lastOf(ids: readonly number[], end: number): number {
  return ids.length === ROWS ? (ids.at(-1) ?? end) : end;
}

function accountOf(body: Uint8Array): unknown {
  try {
    const { accountId } = JSON.parse(Buffer.from(body).toString()) as { readonly accountId?: unknown };
    return typeof accountId === "string" ? Number(accountId) : accountId;
  } catch {
    return undefined;
  }
}
