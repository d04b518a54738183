import { createHash, randomUUID } from "node:crypto";
import { UsageError, type SeenStore } from "../../../src/index.ts";

/** What a `pg.Pool` or `pg.Client` does. */
export interface QueryableLike {
  /** With the values of `$1` and so on. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>;
}

/** Two processes that make it at once would fail on each other. */
const CREATE = /* sql */ `do $$ begin
  perform pg_advisory_xact_lock(hashtext('hookline_seen'));
  create table if not exists hookline_seen (
    key bytea primary key, token uuid not null, until timestamptz not null, done boolean not null default false);
  create index if not exists hookline_seen_until on hookline_seen (until);
end $$`;

/** One that is over is taken over. A snapshot may be older than a claim that was made meanwhile: then it is busy. */
const CLAIM = /* sql */ `with mine as (
    insert into hookline_seen as s (key, token, until) values ($1, $2, clock_timestamp() + $3 * interval '1 ms')
    on conflict (key) do update set token = excluded.token, until = excluded.until, done = false
    where s.until <= clock_timestamp() returning 1)
  select case when exists (select from mine) then 'mine'
    when exists (select from hookline_seen where key = $1 and done and until > clock_timestamp()) then 'done'
    else 'busy' end as state`;

const DONE = /* sql */ `insert into hookline_seen (key, token, until, done)
  values ($1, $2, clock_timestamp() + $3 * interval '1 ms', true)
  on conflict (key) do update set until = excluded.until, done = true`;

const GIVE_BACK = `delete from hookline_seen where key = $1 and token = $2 and not done`;

/** Waits for no other transaction. */
const FORGET = /* sql */ `delete from hookline_seen where key in
  (select key from hookline_seen where until <= clock_timestamp() limit 1000 for update skip locked)`;
/** Of so many settled events one forgets what is over. */
const FORGET_EACH = 100;

const UNDEFINED_TABLE = "42P01";

/**
 * Remembers handled events in a table `hookline_seen` of a PostgreSQL database, which it makes where it is missing. Time is the server's.
 *
 * @param pool a `pg.Pool`, or what has its `query`; it stays yours
 * @throws UsageError `option-invalid` for anything else
 * @example lambdaReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000, seen: pgSeen(new pg.Pool({ connectionString })) });
 */
export function pgSeen(pool: QueryableLike): SeenStore {
  if (typeof pool?.query !== "function")
    throw new UsageError("option-invalid", "pgSeen got no client of PostgreSQL.", {
      fix: "Give it `new pg.Pool({ connectionString })`.",
    });
  /** Of the claims of this process. */
  const tokens = new Map<string, string>();
  // Functions live for a few events: one in so many of them forgets.
  let settled = Math.floor(Math.random() * FORGET_EACH);

  async function claim(values: unknown[]): Promise<unknown> {
    try {
      return (await pool.query(CLAIM, values)).rows[0];
    } catch (error) {
      if ((error as { code?: unknown }).code !== UNDEFINED_TABLE) throw error;
      await pool.query(CREATE);
      return (await pool.query(CLAIM, values)).rows[0];
    }
  }

  return {
    async claim(key, leaseMs) {
      const token = randomUUID();
      const { state } = (await claim([toHash(key), token, leaseMs])) as { state: "mine" | "busy" | "done" };
      // Whose failure comes of two claims, where the lease of the first one ended, nobody can tell: neither is given back.
      if (state === "mine") tokens.set(key, tokens.has(key) ? randomUUID() : token);
      return state;
    },
    async settle(key, how, keepMs) {
      const token = tokens.get(key);
      tokens.delete(key);
      if (how === "done") await pool.query(DONE, [toHash(key), token ?? randomUUID(), keepMs]);
      else if (token !== undefined) await pool.query(GIVE_BACK, [toHash(key), token]);
      settled += 1;
      // The next one tries it again.
      if (settled % FORGET_EACH === 0) await pool.query(FORGET).catch(() => {});
    },
  };
}

/** A key may be longer than an index can hold, and have characters that a text cannot. */
function toHash(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
