import { onTestFinished } from "vitest";
import { createPool, type Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createPostgresJobs } from "../../../adapters/inbox/postgres/jobs/admin.ts";
import { foldEndedCounts, MOST_UNFOLDED } from "../../../adapters/inbox/postgres/schema/ended-counts.ts";
import { prepareSchema } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { encodeDeliveries, encodeExpansions } from "../../../adapters/inbox/postgres/store/encode-batch.ts";
import { createWriter, type Writer } from "../../../adapters/inbox/postgres/store/writer.ts";
import { ensureDays } from "../../../adapters/inbox/postgres/upkeep/day-partitions.ts";
import type { Expansion, InboxJobs, NewDelivery } from "../../../src/adapter.ts";
import { newDatabase } from "../../support/postgres.ts";

/** The tables of an inbox, changed through the functions of the schema by processes that a test plays. */
export interface Tables {
  readonly pool: Pool;
  readonly ident: string;
  /** A process that stores, and runs admin commands. @param made called before a transaction commits that made jobs */
  join(made?: () => Promise<void>): TestProcess;
  /** A worker with all shards that are free. */
  work(): Promise<TestWorker>;
}

interface TestProcess {
  readonly jobs: InboxJobs;
  readonly writer: Writer;
  /** How often memory was to follow. */
  readonly followed: () => number;
  /** @returns ids of the deliveries */
  store(...deliveries: readonly NewDelivery[]): Promise<string[]>;
  expand(fence: number, ...expansions: readonly Expansion[]): Promise<void>;
}

interface TestWorker {
  readonly id: number;
  /** One step: these run from now on, and those have ended. @returns which of the running ones are there */
  step(running: readonly string[], ended?: Readonly<Record<string, Ended>>): Promise<string[]>;
}

/** How a job's claim ends. */
type Ended = "done" | "dead" | "unhandled" | "retry";

/** @param sql that makes the tables of another version, in the schema hookline */
export async function openTables(sql?: string): Promise<Tables & { readonly connectionString: string }> {
  const { connectionString, drop } = await newDatabase();
  const pools: Pool[] = [];
  const newPool = (max: number): Pool => {
    const pool = createPool({ connection: { connectionString }, max, applicationName: "test" });
    pools.push(pool);
    return pool;
  };
  const pool = newPool(4);
  onTestFinished(async () => {
    await Promise.all(pools.map((one) => one.close()));
    await drop();
  });
  const named = { schema: "hookline", name: "default" };
  const ident = '"hookline"';
  if (sql === undefined) await prepareSchema(pool, { ...named, migrate: true });
  else await pool.query(sql);
  await ensureDays(pool, ident);

  return {
    connectionString,
    pool,
    ident,
    join(made) {
      const [own, other] = [newPool(1), newPool(2)];
      const deps = { ident: () => ident, now: () => NOW, ensureDays: () => ensureDays(other, ident) };
      const writer = createWriter({ ...deps, pool: own });
      const slow: Pick<Writer, "transaction"> = {
        transaction: (run) =>
          writer.transaction((queries, make) =>
            run(queries, async (jobs) => {
              const ids = await make(jobs);
              await made?.();
              return ids;
            }),
          ),
      };
      let followed = 0;
      return {
        writer,
        jobs: createPostgresJobs({
          ident: () => ident,
          pool: other,
          writer: slow,
          fold: () => void other.query(foldEndedCounts(ident, MOST_UNFOLDED)),
          changed: async () => void (followed += 1),
        }),
        followed: () => followed,
        async store(...deliveries) {
          const { at, ...batch } = encodeDeliveries(deliveries, true, { now: NOW, dedupeAfter: 0 });
          const { base } = await writer.store({ at, ...batch });
          return at.map((place) => String(base + place));
        },
        async expand(fence, ...expansions) {
          await writer.store(encodeExpansions(expansions, { now: NOW, dedupeAfter: 0 }), fence);
        },
      };
    },
    async work() {
      const [row] = await pool.query<{ id: number }>(`insert into ${ident}.worker default values returning id`);
      const id = row?.id ?? 0;
      await pool.query(
        `update ${ident}.shard set owner = $1 where id in (select id from ${ident}.shard where owner is null for update skip locked)`,
        [id],
      );
      return { id, step: (running, ended = {}) => step({ pool, ident }, id, { running, ended }) };
    },
  };
}

async function step(
  { pool, ident }: Pick<Tables, "pool" | "ident">,
  worker: number,
  { running, ended }: { readonly running: readonly string[]; readonly ended: Readonly<Record<string, Ended>> },
): Promise<string[]> {
  const places = await pool.query<{ shard: number; id: number }>(
    `select shard, id from ${ident}.job where id = any ($1) order by id`,
    [[...running, ...Object.keys(ended)]],
  );
  const settled = places.flatMap(({ shard, id }) => {
    const to = ended[String(id)];
    return to === undefined ? [] : [{ shard, id, to }];
  });
  const done = settled.filter(({ to }) => to === "done");
  const others = settled.filter(({ to }) => to !== "done").map(({ shard, id, to }) => toOther(shard, id, to));
  const marked = places.filter(({ id }) => ended[String(id)] === undefined);
  const [shards, ids] = [
    (of: typeof places) => of.map(({ shard }) => shard),
    (of: typeof places) => of.map(({ id }) => id),
  ];
  const [row] = await pool.query<{ head: { alive: boolean; gone: readonly number[] } }>(
    `select head from ${ident}.work($1, (select beat + 1 from ${ident}.worker where id = $1), $2, $3, done_shards => $4, done_ids => $5,
       settle => $6, mark_shards => $7, mark_ids => $8)`,
    [
      worker,
      running,
      running.map(() => null),
      shards(done),
      ids(done),
      JSON.stringify({ others }),
      shards(marked),
      ids(marked),
    ],
  );
  const { head } = row ?? {};
  if (head?.alive !== true) throw new Error("The worker is fenced.");
  return ids(marked)
    .filter((id) => !head.gone.includes(id))
    .map(String);
}

function toOther(s: number, i: number, to: Ended) {
  const retry = to === "retry" ? { w: "waiting", r: NOW + 1_000, y: 1_000 } : { w: to, r: 0, y: 0, z: NOW };
  const a = to === "unhandled" ? 0 : 1;
  return { s, i, ...retry, a, d: 0, g: null, f: NOW, e: { name: "Error", message: "no", at: NOW } };
}

export const NOW: number = Date.parse("2026-05-06T07:08:09Z");
