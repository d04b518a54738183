import type { DatabaseSync } from "node:sqlite";
import type { NewJob } from "../../../../src/adapter.ts";
import { FRESH_ROW, type JobRow } from "../client/thread-protocol.ts";
import type { Counters } from "../thread/counters.ts";
import type { JobLists, ListChange } from "../thread/job-lists.ts";
import { toListed, type Listed } from "../thread/job-writer.ts";

/** Makes new jobs of settled ones for admin requests. Missing jobs are skipped. */
export interface Replays {
  /** A new job for each, at the tail of its lane. Takes done, skipped, dead and unhandled ones that have a consumer. */
  replay(ids: readonly number[]): JobRow[];
  /** Replaces unhandled jobs by jobs of their current consumers. */
  reopen(replacements: readonly { readonly id: number; readonly jobs: readonly NewJob[] }[]): JobRow[];
}

interface Settled {
  readonly delivery: number;
  readonly entry: number;
  readonly type: string;
  readonly consumer: string | null;
  readonly lane: string | null;
  readonly mergeKey: string | null;
  readonly replayOf: number | null;
}

type Dead = Settled & { readonly state: "dead" | "unhandled" };

const COPY = "received_at, sent_at, source, signed_by, signature, headers, account, subscription, body";

export function createReplays(
  db: DatabaseSync,
  { lists, counters }: { readonly lists: JobLists; readonly counters: Counters },
): Replays {
  const sql = {
    dead: db.prepare(
      "SELECT delivery, entry, type, consumer, lane, merge_key AS mergeKey, replay_of AS replayOf, state FROM dead WHERE id = ?",
    ),
    unsettled: db.prepare("SELECT 1 FROM job WHERE id = ?"),
    // The delivery may be gone: the dead job has a copy.
    restore: db.prepare(
      `INSERT OR IGNORE INTO delivery (id, ${COPY}, cursor, jobs) SELECT delivery, ${COPY}, NULL, '[]' FROM dead WHERE id = ?`,
    ),
    received: db.prepare("SELECT received_at AS receivedAt FROM delivery WHERE id = ?"),
    insert: db.prepare(
      `INSERT INTO job (id, delivery, entry, type, consumer, lane, merge_key, received_at, replay_of) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    removeDead: db.prepare("DELETE FROM dead WHERE id = ?"),
  };

  const deadOf = (id: number): Dead | undefined => sql.dead.get(id) as unknown as Dead | undefined;

  function settledOf(id: number): Settled | undefined {
    if (sql.unsettled.get(id) !== undefined) return undefined;
    const found = lists.find(id);
    if (found === undefined) return undefined;
    const [, entry, type, consumer, lane, mergeKey] = found.line;
    return { delivery: found.delivery, entry, type, consumer, lane, mergeKey, replayOf: null };
  }

  /** Takes a dead or unhandled job out, for jobs that replace it. */
  function takeOut(id: number, { delivery, state }: Dead, changes: Changes): void {
    sql.restore.run(id);
    sql.removeDead.run(id);
    counters.add(state, -1);
    changes.of(delivery).gone.add(id);
  }

  /** New jobs with the origin of an old one. */
  function make({ delivery, entry, type }: Settled, jobs: readonly AgainJob[], changes: Changes): JobRow[] {
    const made = jobs.map((job) => ({ id: counters.nextId(), job }));
    const lines = made.map(({ id, job }) => toListed(id, { entry, type }, job));
    changes.of(delivery).added.push(...lines);
    lists.madeLater(delivery, lines);
    const receivedAt = Number(sql.received.get(delivery)?.["receivedAt"]);
    return made.flatMap(({ id, job: { state, consumer = "", lane = null, mergeKey = null, replayOf } }) => {
      if (state !== "waiting") return [];
      sql.insert.run(id, delivery, entry, type, consumer, lane, mergeKey, receivedAt, replayOf);
      counters.add("unsettled", 1);
      return [{ ...FRESH_ROW, id, delivery, entry, consumer, lane, mergeKey, receivedAt, replayOf }];
    });
  }

  function change(by: Changes): void {
    for (const [delivery, listChange] of by.all) lists.change(delivery, listChange);
  }

  return {
    replay(wanted) {
      const changes = createChanges();
      // All of them are looked up before the first list changes: each change has a long list read again.
      const found = wanted.map((old) => {
        const dead = deadOf(old);
        return { old, dead, job: dead ?? settledOf(old) };
      });
      const rows = found.flatMap(({ old, dead, job }) => {
        if (job === undefined || job.consumer === null) return [];
        if (dead !== undefined) takeOut(old, dead, changes);
        const { consumer, lane, mergeKey, replayOf } = job;
        const again = { consumer, lane: lane ?? undefined, mergeKey: toReplayKey(mergeKey ?? undefined) };
        return make(job, [{ state: "waiting", ...again, replayOf: replayOf ?? old }], changes);
      });
      change(changes);
      return rows;
    },
    reopen(replacements) {
      const changes = createChanges();
      const rows = replacements.flatMap(({ id, jobs }) => {
        const dead = deadOf(id);
        if (dead?.state !== "unhandled") return [];
        takeOut(id, dead, changes);
        const { replayOf } = dead;
        const again = jobs.map((job) => ({
          ...job,
          mergeKey: replayOf === null ? job.mergeKey : toReplayKey(job.mergeKey),
          replayOf,
        }));
        return make(dead, again, changes);
      });
      change(changes);
      return rows;
    },
  };
}

type AgainJob = NewJob & { readonly replayOf: number | null };

/** What becomes of the lists of some deliveries. */
interface Changes {
  readonly all: ReadonlyMap<number, ListChange>;
  of(delivery: number): { readonly gone: Set<number>; readonly added: Listed[] };
}

function createChanges(): Changes {
  const all = new Map<number, { readonly gone: Set<number>; readonly added: Listed[] }>();
  return {
    all,
    of(delivery) {
      const known = all.get(delivery) ?? { gone: new Set(), added: [] };
      all.set(delivery, known);
      return known;
    },
  };
}

/** Replays merge with replays only. */
function toReplayKey(mergeKey: string | undefined): string | undefined {
  return mergeKey === undefined || mergeKey.startsWith("replay:") ? mergeKey : `replay:${mergeKey}`;
}
