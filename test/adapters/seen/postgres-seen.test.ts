import { pgSeen } from "hookline/postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { newDatabase, type TestDatabase } from "../../support/postgres.ts";
import { checkSeenStore } from "../../suites/check-seen-store.ts";

describe("pgSeen", () => {
  let database: TestDatabase;
  const pools: pg.Pool[] = [];
  const connect = (): pg.Pool => {
    const pool = new pg.Pool({ connectionString: database.connectionString, max: 2 });
    pools.push(pool);
    return pool;
  };

  beforeAll(async () => {
    database = await newDatabase();
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await database.drop();
  });

  // First: it makes the table.
  checkSeenStore(() => pgSeen(connect()));

  test("is not made of anything but a client", () => {
    for (const client of [undefined, {}, "postgres://localhost"])
      expect(() => pgSeen(client as never)).toThrow(expect.objectContaining({ code: "option-invalid" }));
  });

  test("forgets rows that are over, a few at a time", async () => {
    const pool = connect();
    const store = pgSeen(pool);
    await pool.query("truncate hookline_seen");
    for (let index = 0; index < 100; index += 1) await store.settle(`old-${index}`, "done", 1);
    for (let index = 0; index < 100; index += 1) await store.settle(`new-${index}`, "done", 60_000);
    const { rows } = await pool.query<{ rows: number }>("select count(*)::int as rows from hookline_seen");
    expect(rows[0]?.rows).toBeLessThan(200);
    expect(await store.claim("new-1", 1_000)).toBe("done");
  });

  test("processes that handle few events forget as well, and what cannot be forgotten fails nothing", async () => {
    const pool = connect();
    vi.spyOn(Math, "random").mockReturnValue(0.99);
    await pgSeen(pool).settle("soon over", "done", 1);
    let isOver = false;
    while (!isOver) {
      await pgSeen(pool).settle("last", "done", 60_000);
      isOver = (await pool.query("select from hookline_seen where until <= clock_timestamp()")).rows.length === 0;
    }
    const failing = {
      query: (text: string, values?: unknown[]) =>
        text.startsWith("delete") ? Promise.reject(new Error("no")) : pool.query(text, values),
    };
    await pgSeen(failing).settle("last", "done", 60_000);
    vi.restoreAllMocks();
  });

  test("rejects where the server is gone, so that nothing runs unseen", async () => {
    const pool = new pg.Pool({ connectionString: database.connectionString });
    await pool.end();
    await expect(pgSeen(pool).claim("a", 1_000)).rejects.toThrow("pool");
  });
});
