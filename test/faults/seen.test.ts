import { pgSeen } from "hookline/postgres";
import { redisSeen } from "hookline/redis";
import { Redis } from "ioredis";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { startNode } from "../cli/child.ts";
import { startPostgres } from "../support/postgres.ts";
import { startRedis, whyWithout } from "../support/queues/start-server.ts";
import { report, rounds } from "./matrix/rounds.ts";

/** 10,000, or a share of them. */
const ROUNDS = 50 * rounds(200);
/** Most of the time they start. */
const PROCESSES = ROUNDS < 10_000 ? 8 : 50;
const LEASE_MS = 3_000;
const CLAIM = "test/faults/seen/claiming-process.ts";

const servers = [
  {
    name: "redisSeen",
    why: whyWithout("redis-server"),
    async start() {
      const { port, remove } = await startRedis();
      const client = new Redis({ port });
      onTestFinished(async () => {
        client.disconnect();
        await remove();
      });
      return { url: `redis://127.0.0.1:${port}`, store: redisSeen(client) };
    },
  },
  {
    name: "pgSeen",
    why: undefined,
    async start() {
      const { connectionString, remove } = await startPostgres();
      const pool = new pg.Pool({ connectionString });
      onTestFinished(async () => {
        await pool.end();
        await remove();
      });
      return { url: connectionString, store: pgSeen(pool) };
    },
  },
];

describe.each(servers)("$name", ({ name, why, start }) => {
  test.skipIf(why)("of many processes one gets each key", { timeout: 1_800_000 }, async () => {
    const { url } = await start();
    const folder = mkdtempSync(join(tmpdir(), "hookline-seen-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "begin");
    const processes = Array.from({ length: PROCESSES }, () => startNode([CLAIM, url, String(ROUNDS), file]));
    await Promise.all(processes.map((one) => one.says("out", /ready/)));
    writeFileSync(`${file}-next`, String(Date.now() + 1_000));
    renameSync(`${file}-next`, file);
    const codes = await Promise.all(processes.map(({ ended }) => ended));
    expect(codes, processes.map((one) => one.err()).join("")).toEqual(codes.map(() => 0));
    const got = processes.map((one) => JSON.parse(/got (.*)/.exec(one.out())?.[1] ?? "") as readonly number[]);
    expect(got.filter((own) => own.length > 0).length).toBeGreaterThan(ROUNDS < 10_000 ? 0 : 1);
    expect(got.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: ROUNDS }, (_, round) => round));
    report(name, { processes: PROCESSES, rounds: ROUNDS, winners: got.filter((own) => own.length > 0).length });
  });

  test.skipIf(why)("what a killed process claimed runs again after the lease, not before", async () => {
    const { url, store } = await start();
    const before = performance.now();
    const dying = startNode([CLAIM, url, String(LEASE_MS)]);
    await dying.ended;
    expect(dying.out()).toBe("mine\n");
    let busy = 0;
    while ((await store.claim("crash", LEASE_MS)) === "busy") busy += 1;
    expect(busy).toBeGreaterThan(0);
    expect(performance.now() - before).toBeGreaterThan(LEASE_MS);
  });
});
