import type { Clock } from "hookline/adapter";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { createPool, type Pool, type Queries } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { functionsOf } from "../../../adapters/inbox/postgres/schema/functions.ts";
import { tablesOf } from "../../../adapters/inbox/postgres/schema/tables.ts";
import { encodeDeliveries, encodeExpansions } from "../../../adapters/inbox/postgres/store/encode-batch.ts";
import { createWriter, type Writer } from "../../../adapters/inbox/postgres/store/writer.ts";
import { ensureDays } from "../../../adapters/inbox/postgres/upkeep/day-partitions.ts";
import { createUpkeep, type KeepOptions, type UpkeepParts } from "../../../adapters/inbox/postgres/upkeep/retention.ts";
import type { FullDelivery } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { newDatabase } from "../../support/postgres.ts";

export const DAY_MS = 86_400_000;
export const KEEP: KeepOptions = {
  keepDoneMs: 2 * DAY_MS,
  keepDeadMs: 3 * DAY_MS,
  keepUnhandledMs: 4 * DAY_MS,
  keepBodies: "retention",
};

/** Opens worlds of one database, each until its test ends. */
export function upkeepWorlds(): () => Promise<World> {
  let database: Awaited<ReturnType<typeof upkeepDatabase>>;
  beforeAll(async () => {
    database = await upkeepDatabase();
  });
  afterAll(() => database.drop());
  return async () => {
    const world = await database.world();
    onTestFinished(() => world.end());
    return world;
  };
}

/** A database whose schemas are each a world of its own. */
export async function upkeepDatabase() {
  const database = await newDatabase();
  let schemas = 0;
  return {
    async world() {
      schemas += 1;
      return openWorld(database.connectionString, `"it's 100% ${schemas}"`);
    },
    drop: () => database.drop(),
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;

/** Tables with a few verbs of the inbox. The clocks of the server and of the process are the test's: all SQL asks a function for the time. */
async function openWorld(connectionString: string, ident: string) {
  const faked = (text: string): string => text.replaceAll("clock_timestamp()", `${ident}.faked_now()`);
  const real = createPool({ connection: { connectionString }, max: 4, applicationName: "test" });
  const fake = (queries: Queries): Queries => ({ query: (text, values) => queries.query(faked(text), values) });
  const pool: Pool = {
    ...real,
    ...fake(real),
    transaction: (run) => real.transaction((queries) => run(fake(queries))),
  };
  const log = logRecorder();
  const clock = heldClock();

  await real.query(`create schema ${ident}`);
  await real.query(`create table ${ident}.faked (ahead_ms bigint not null)`);
  await real.query(`insert into ${ident}.faked values (0)`);
  await real.query(
    `create function ${ident}.faked_now() returns timestamptz language sql as $$ select clock_timestamp() + ahead_ms * interval '1 ms' from ${ident}.faked $$`,
  );
  await real.query(faked(tablesOf(ident)));
  await real.query(faked(functionsOf(ident)));
  await ensureDays(pool, ident);
  const [me] = await pool.query<{ id: number }>(`insert into ${ident}.worker default values returning id`);
  await pool.query(`update ${ident}.shard set owner = $1`, [me?.id]);
  const newWriter = (): Writer =>
    createWriter({ pool, ident: () => ident, now: clock.now, ensureDays: (queries) => ensureDays(queries, ident) });
  const writer = newWriter();
  const host = {
    name: "default",
    clock,
    log: log.logger,
    dedupeWindowMs: DAY_MS,
  };
  const times = () => ({ now: clock.now(), dedupeAfter: clock.now() - DAY_MS });
  const upkeep = (parts: Partial<UpkeepParts> = {}) =>
    createUpkeep({
      ident: () => ident,
      pool,
      host: () => host,
      options: KEEP,
      isLeader: () => true,
      expired: () => {},
      ...parts,
    });

  return {
    ident,
    pool,
    clock,
    log,
    writer,
    upkeep,
    rows: async <R = Record<string, unknown>>(text: string, ...values: readonly unknown[]): Promise<readonly R[]> =>
      pool.query<R>(text.replaceAll("hl.", `${ident}.`), values),
    async count(table: string, where = "true"): Promise<number> {
      const [row] = await pool.query<{ n: number }>(`select count(*) as n from ${ident}.${table} where ${where}`);
      return row?.n ?? 0;
    },
    /** @returns the ids of the deliveries */
    async store(deliveries: readonly FullDelivery[], isRaw = false): Promise<readonly number[]> {
      const batch = encodeDeliveries(
        isRaw ? deliveries.map(({ delivery }) => ({ delivery, events: undefined })) : deliveries,
        true,
        times(),
      );
      const { base } = await writer.store(batch);
      return batch.at.map((place) => base + place);
    },
    /** Another process. @returns its store */
    another() {
      const other = newWriter();
      return (deliveries: readonly FullDelivery[]) => other.store(encodeDeliveries(deliveries, true, times()));
    },
    async expand(id: number, { events }: FullDelivery): Promise<number> {
      const batch = encodeExpansions([{ id: String(id), events, cursor: undefined }], times());
      const { base } = await writer.store(batch, me?.id);
      return base + (batch.at[0] ?? 0);
    },
    /** Ends an open job as a worker does. */
    async settle(id: number, as: "done" | "dead" | "unhandled"): Promise<void> {
      const [job] = await pool.query<{ shard: number }>(`select shard from ${ident}.job where id = $1`, [id]);
      const others = [{ s: job?.shard, i: id, w: as, a: 1, d: 0, r: 0, y: 0, z: clock.now() }];
      const given =
        as === "done" ? "done_shards => array[$2::smallint], done_ids => array[$3::bigint]" : "settle => $2";
      await pool.query(
        `select * from ${ident}.work($1, (select beat + 1 from ${ident}.worker where id = $1), ${given})`,
        [me?.id, ...(as === "done" ? [job?.shard, id] : [JSON.stringify({ others })])],
      );
    },
    /** Both clocks go on, or back; what was trusted of them goes with them. */
    async pass(ms: number): Promise<void> {
      await this.setClocks(ms);
      await pool.query(
        `insert into ${ident}.meta values ('retention', $1) on conflict (key) do update set value = excluded.value`,
        [JSON.stringify({ stamps: clock.now(), days: clock.now() })],
      );
      await ensureDays(pool, ident);
    },
    /** Both clocks jump. */
    async setClocks(ms: number): Promise<void> {
      clock.ahead(ms);
      await pool.query(`update ${ident}.faked set ahead_ms = ahead_ms + $1`, [ms]);
    },
    /** One pass of a process that begins. */
    async retain(parts: Partial<UpkeepParts> = {}): Promise<void> {
      const one = upkeep(parts);
      one.begin();
      await clock.ended();
      one.end();
    },
    days: async () =>
      (await pool.query<{ day: number }>(`select distinct day from ${ident}.delivery order by day`)).map(
        ({ day }) => day,
      ),
    today: () => Math.floor(clock.now() / DAY_MS),
    async end(): Promise<void> {
      await real.query(`drop schema ${ident} cascade`);
      await real.close();
    },
  };
}

/** Short waits are over at once; the wait between two passes is over when the test says so. */
function heldClock() {
  let offset = 0;
  let held: (() => void) | undefined;
  const clock: Clock & { ahead(ms: number): void; ended(): Promise<void>; next(): Promise<void> } = {
    now: () => Date.now() + offset,
    setTimer(run, ms) {
      if (ms < 20_000) {
        const timer = setImmediate(run);
        return { clear: () => clearImmediate(timer) };
      }
      held = run;
      return { clear: () => void (held = held === run ? undefined : held) };
    },
    ahead(ms) {
      offset += ms;
    },
    /** Resolves when a pass has ended. */
    async ended() {
      await eventually(() => {
        if (held === undefined) throw new Error("The pass has not ended.");
      });
    },
    /** The next pass. */
    async next() {
      await clock.ended();
      const run = held;
      held = undefined;
      run?.();
      await clock.ended();
    },
  };
  return clock;
}
