import type { DatabaseSync } from "node:sqlite";
import type { Counters } from "./counters.ts";
import type { JobLists } from "./job-lists.ts";
import type { Listed } from "./job-writer.ts";

/** Taking jobs away by hand. What is gone already is passed over. */
export interface Removals {
  /** Takes what is not settled and does not run, and dead and unhandled ones. @returns those that were there */
  drop(ids: readonly number[]): number[];
  /** Every job and delivery of an account in a range of ids. */
  erase(range: { readonly accountId: number; readonly after: number }): {
    readonly jobs: readonly number[];
    readonly unexpanded: number;
    readonly next: number | undefined;
  };
}

/** Ids looked at in one go. */
const RANGE = 20_000;

export function createRemovals(
  db: DatabaseSync,
  { lists, counters }: { readonly lists: JobLists; readonly counters: Counters },
): Removals {
  const sql = {
    running: db.prepare("SELECT running FROM owner"),
    removeJob: db.prepare("DELETE FROM job WHERE id = ? RETURNING delivery"),
    removeDead: db.prepare("DELETE FROM dead WHERE id = ? RETURNING delivery, state"),
    deliveriesOf: db.prepare(
      "SELECT id, jobs, cursor FROM delivery WHERE id > ? AND id <= ? AND (account = ? OR (account IS NULL AND cursor IS NOT NULL))",
    ),
    body: db.prepare("SELECT body FROM delivery WHERE id = ?"),
    removeDelivery: db.prepare("DELETE FROM delivery WHERE id = ?"),
    deadOf: db.prepare("DELETE FROM dead WHERE account = ? RETURNING id, state"),
  };

  /** @returns its delivery; undefined where it was not there */
  function removeJob(id: number): number | undefined {
    const row = sql.removeJob.get(id) as { readonly delivery: number } | undefined;
    if (row !== undefined) counters.add("unsettled", -1);
    return row?.delivery;
  }

  function removeDead(id: number): number | undefined {
    const row = sql.removeDead.get(id) as { readonly delivery: number; readonly state: DeadState } | undefined;
    if (row !== undefined) counters.add(row.state, -1);
    return row?.delivery;
  }

  return {
    drop(wanted) {
      const running = JSON.parse(String(sql.running.get()?.["running"])) as Record<string, number>;
      return wanted.filter((id) => {
        if (running[id] !== undefined) return false;
        const delivery = removeJob(id) ?? removeDead(id);
        if (delivery !== undefined) lists.remove(delivery, id);
        return delivery !== undefined;
      });
    },
    erase({ accountId, after }) {
      const end = after + RANGE;
      const jobs: number[] = [];
      let unexpanded = 0;
      for (const row of sql.deliveriesOf.all(after, end, accountId)) {
        const id = Number(row["id"]);
        const isOpen = row["cursor"] !== null;
        if (isOpen && accountOf(sql.body.get(id)?.["body"] as Uint8Array) !== accountId) continue;
        for (const [job] of JSON.parse(String(row["jobs"])) as Listed[])
          if (removeJob(job) !== undefined) jobs.push(job);
        if (isOpen) unexpanded += 1;
        sql.removeDelivery.run(id);
      }
      counters.add("unexpanded", -unexpanded);
      // Dead ones carry their account, and outlive their delivery.
      const dead = after === 0 ? sql.deadOf.all(accountId) : [];
      for (const { id, state } of dead as unknown as { readonly id: number; readonly state: DeadState }[]) {
        counters.add(state, -1);
        jobs.push(id);
      }
      return { jobs, unexpanded, next: end < counters.lastId() ? end : undefined };
    },
  };
}

type DeadState = "dead" | "unhandled";

function accountOf(body: Uint8Array): unknown {
  try {
    const { accountId } = JSON.parse(Buffer.from(body).toString()) as { readonly accountId?: unknown };
    return typeof accountId === "string" ? Number(accountId) : accountId;
  } catch {
    return undefined;
  }
}
