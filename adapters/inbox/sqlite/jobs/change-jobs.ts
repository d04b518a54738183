import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { ErasedRows, NewJob } from "../../../../src/adapter.ts";
import { ERASED_REASON } from "../../../../src/inbox/port/jobs.ts";
import { accountOf } from "../../../../src/protocol/id.ts";
import type { LoadedJob } from "../thread/records.ts";
import type { FileState } from "../thread/file-state.ts";
import type { FileJob, JobFinder } from "./find-jobs.ts";
import { rowsOf, toNumber } from "../schema/columns.ts";
import type { GapTable } from "../schema/gap-table.ts";
import type { KeyValueTable } from "../schema/key-value-table.ts";
import { REMOVED } from "../upkeep/body-removal.ts";
import { linesOf, type JobLists, type Line } from "./job-lists.ts";
import type { JobTable } from "../schema/job-table.ts";
import type { SubscriptionTable } from "../schema/subscription-table.ts";

/** Replays, drops and erases jobs for admin requests. Missing jobs are skipped. */
export interface JobChanges {
  /** A new job for each, at the tail of its lane. Takes done, skipped, dead and unhandled ones that have a consumer, and a body. */
  replay(ids: readonly number[]): LoadedJob[];
  /** Replaces unhandled jobs by jobs of their current consumers. */
  reopen(replacements: readonly Replacement[]): LoadedJob[];
  /** Takes open jobs that do not run, and dead and unhandled ones. @returns those that were there */
  drop(ids: readonly number[], options: { readonly nobodyWorks: boolean }): number[];
  /** Jobs and deliveries of an account, some of those with ids above `after` and up to `until`. */
  erase(range: { readonly accountId: number; readonly after: number; readonly until: number }): Erased;
}

interface Replacement {
  readonly id: number;
  readonly jobs: readonly NewJob[];
  /** As the event says now. */
  readonly origin: Pick<FileJob, "type" | "account" | "subscription"> | undefined;
}

/** What was erased in one go. */
interface Erased {
  readonly jobs: readonly number[];
  readonly rows: ErasedRows;
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

export interface JobChangesDeps {
  readonly state: FileState;
  readonly lists: JobLists;
  readonly jobs: JobTable;
  readonly finder: JobFinder;
  readonly subscriptions: Pick<SubscriptionTable, "forgetAccount">;
  readonly gaps: Pick<GapTable, "forgetAccount">;
  readonly keyValues: Pick<KeyValueTable, "forgetAccount" | "forgetReasons">;
}

interface DeliveryContent {
  readonly ids: readonly number[];
  readonly bytes: number;
  readonly subscription: SQLOutputValue | undefined;
}

/** Deliveries that one go of an erasure looks at. */
const LOOKS = 5_000;
/** What it erases, and bytes of bodies that it parses. One delivery that alone is more goes all the same. */
const ERASED = { deliveries: 200, jobs: 5_000 };
const BYTES = 4 * 1024 * 1024;

type NewReplay = Pick<NewJob, "consumer" | "lane" | "mergeKey"> & { readonly replayOf: number | null };

export function createJobChanges(db: DatabaseSync, deps: JobChangesDeps): JobChanges {
  const { state, lists, jobs, finder, subscriptions, gaps, keyValues } = deps;
  const sql = {
    bound: db.prepare("SELECT id FROM delivery WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"),
    deliveriesOf: db.prepare(/* sql */ `SELECT id FROM delivery WHERE id > :after AND id <= :end AND account = :account
       UNION SELECT delivery FROM job_list WHERE delivery > :after AND delivery <= :end AND account = :account ORDER BY 1 LIMIT ${ERASED.deliveries}`),
    // Not expanded yet, or by a version that noted the account of readable envelopes alone.
    unnamed: db.prepare(/* sql */ `SELECT id, body FROM delivery AS one WHERE id > ? AND id <= ? AND account IS NULL
         AND NOT EXISTS (SELECT 1 FROM job_list AS list WHERE list.delivery = one.id AND list.account IS NOT NULL) ORDER BY id`),
    ownList: db.prepare("SELECT jobs, length(body) AS bytes, subscription FROM delivery WHERE id = ?"),
    laterLists: db.prepare(`SELECT ${toNumber("first_job")} AS first, jobs FROM job_list WHERE delivery = ?`),
    hasBody: db.prepare(`SELECT 1 FROM delivery WHERE id = ? AND headers <> '${REMOVED}'`),
    removeLists: db.prepare("DELETE FROM job_list WHERE delivery = ?"),
    forgetReasons:
      db.prepare(/* sql */ `UPDATE tombstone SET reason = '${ERASED_REASON}' WHERE reason <> '${ERASED_REASON}' AND subscription IN (
         SELECT value FROM json_each(:given) UNION SELECT subscription FROM subscription WHERE account = :account
         UNION SELECT subscription FROM subscribed_resource WHERE account = :account)`),
    removeUnexpanded: db.prepare("DELETE FROM unexpanded WHERE delivery = ?"),
    removeDelivery: db.prepare("DELETE FROM delivery WHERE id = ?"),
  };

  /** Jobs with others that replace them. Dead and unhandled ones go. */
  function replace(
    ids: readonly number[],
    replacementsOf: (old: FileJob) => readonly NewReplay[],
    originOf: (id: number) => Replacement["origin"] = () => undefined,
  ): LoadedJob[] {
    const gone: number[] = [];
    const made = ids.flatMap((id) => {
      const old = finder.get(id);
      if (old === undefined || old.state === "waiting" || old.state === "running") return [];
      const replacements = replacementsOf(old);
      if (replacements.length > 0 && (old.state === "dead" || old.state === "unhandled")) {
        jobs.remove(id, old.state);
        gone.push(id);
      }
      return make({ ...old, ...originOf(id) }, replacements);
    });
    lists.remove(gone);
    return made;
  }

  /** New jobs with the origin of an old one. */
  function make(old: FileJob, made: readonly NewReplay[]): LoadedJob[] {
    const { delivery, entry, type, account, subscription, receivedAt } = old;
    if (made.length === 0) return [];
    const lines = made.map(({ consumer = "", lane = null, mergeKey = null }): Line => [
      entry,
      type,
      consumer,
      lane,
      mergeKey,
    ]);
    const first = state.nextId(made.length);
    lists.add({ first, delivery, account, subscription, list: JSON.stringify(lines) });
    return made.map(({ consumer = "", lane = null, mergeKey = null, replayOf }, place) => {
      const [id, line] = [first + place, lines[place] as Line];
      jobs.insert({ id, delivery, account, subscription, receivedAt, line }, replayOf);
      return [id, delivery, entry, consumer, lane, mergeKey, receivedAt, replayOf, null, account];
    });
  }

  /** @returns whether it was there, and may go */
  function removeOne(id: number): boolean {
    const marked = state.mark.remove(id);
    if (marked === "fresh") state.add("open", -1);
    return marked === "fresh" || jobs.remove(id, "open") || jobs.remove(id, "dead") || jobs.remove(id, "unhandled");
  }

  function contentOf(delivery: number): DeliveryContent {
    const { jobs: own, bytes, subscription } = sql.ownList.get(delivery) ?? {};
    const all = [{ first: delivery + 1, jobs: own }, ...sql.laterLists.all(delivery)];
    const ids = all.flatMap(({ first, jobs: list }) => linesOf(list).map((_, place) => Number(first) + place));
    return { ids, bytes: Number(bytes), subscription };
  }

  /** A delivery, and all that was made of it. @returns the jobs that were not done, and how many deliveries were not expanded */
  function eraseOne(delivery: number, ids: readonly number[]): { jobs: readonly number[]; unexpanded: number } {
    const gone = ids.filter(removeOne);
    const unexpanded = Number(sql.removeUnexpanded.run(delivery).changes);
    state.add("unexpanded", -unexpanded);
    sql.removeLists.run(delivery);
    sql.removeDelivery.run(delivery);
    return { jobs: gone, unexpanded };
  }

  return {
    replay: (wanted) =>
      replace(wanted, ({ id, delivery, consumer, lane, mergeKey, replayOf }) => {
        if (consumer === null || sql.hasBody.get(delivery) === undefined) return [];
        const again = { consumer, lane: lane ?? undefined, mergeKey: toReplayKey(mergeKey ?? undefined) };
        return [{ ...again, replayOf: replayOf ?? id }];
      }),
    reopen(replacements) {
      const byId = new Map(replacements.map((one) => [one.id, one]));
      return replace(
        [...byId.keys()],
        ({ id, state: from, replayOf }) => {
          if (from !== "unhandled") return [];
          const toKey = (key: string | undefined): string | undefined => (replayOf === null ? key : toReplayKey(key));
          const made = byId.get(id)?.jobs ?? [];
          return made.map(({ consumer, lane, mergeKey }) => ({ consumer, lane, mergeKey: toKey(mergeKey), replayOf }));
        },
        (id) => byId.get(id)?.origin,
      );
    },
    drop(wanted, { nobodyWorks }) {
      const dropped = wanted.filter((id) => (nobodyWorks || !state.mark.has(id)) && removeOne(id));
      lists.remove(dropped);
      return dropped;
    },
    erase({ accountId, after, until }) {
      let end = Math.min(Number(sql.bound.get(after, LOOKS - 1)?.["id"] ?? until), until);
      const named: number[] = [];
      let bytes = 0;
      for (const { id, body } of rowsOf<{ id: number; body: Uint8Array }>(sql.unnamed, after, end)) {
        if (accountOf(body) === accountId) named.push(id);
        bytes += body.byteLength;
        if (bytes > BYTES) end = Math.min(end, id);
        if (bytes > BYTES) break;
      }
      const known = sql.deliveriesOf.all({ after, end, account: accountId }).map(({ id }) => Number(id));
      let last = known.length === ERASED.deliveries ? (known.at(-1) ?? end) : end;
      const chosen = [...new Set([...known, ...named])].filter((id) => id <= last).toSorted((a, b) => a - b);
      const gone: number[] = [];
      const theirs = new Set<SQLOutputValue | undefined>();
      let deliveries = 0;
      let room = { jobs: ERASED.jobs, bytes: BYTES };
      let unexpanded = 0;
      for (const [index, delivery] of chosen.entries()) {
        const content = contentOf(delivery);
        room = { jobs: room.jobs - content.ids.length, bytes: room.bytes - content.bytes };
        if (index > 0 && (room.jobs < 0 || room.bytes < 0)) {
          last = delivery - 1;
          break;
        }
        const erased = eraseOne(delivery, content.ids);
        for (const job of erased.jobs) gone.push(job); // more than a call takes as arguments
        unexpanded += erased.unexpanded;
        deliveries += 1;
        theirs.add(content.subscription);
      }
      const given = JSON.stringify([...theirs].filter((one) => typeof one === "number"));
      const tombstones = Number(sql.forgetReasons.run({ given, account: accountId }).changes);
      if (tombstones > 0) state.add("tombstones", 1);
      const rows = {
        count: gone.length + unexpanded,
        deliveries,
        tombstones,
        pauses: keyValues.forgetReasons(accountId),
        notices: subscriptions.forgetAccount(accountId),
        resources: gaps.forgetAccount(accountId),
        tokens: keyValues.forgetAccount(accountId),
      };
      lists.begin(); // what was looked up may be gone
      return { jobs: gone, rows, next: last < until ? last : undefined };
    },
  };
}

/** Replays merge with replays only. */
function toReplayKey(mergeKey: string | undefined): string | undefined {
  return mergeKey === undefined || mergeKey.startsWith("replay:") ? mergeKey : `replay:${mergeKey}`;
}
