import { describe, expect, test } from "vitest";
import { noPgBouncer } from "../../support/postgres.ts";
import { sleepMs } from "../matrix/fleet.ts";
import { rounds } from "../matrix/rounds.ts";
import { createCluster } from "./cluster.ts";

const WAYS = [
  { way: "direct", pooled: false, skip: undefined },
  { way: "through PgBouncer in transaction mode", pooled: true, skip: noPgBouncer },
];

/** Longer than this a process that does nothing loses its claims. */
const LEASE_MS = 2_000;

/** In a few rounds only what differs most is tried through a pooler. */
const TOO_FEW = rounds(200) < 20 ? "skipped: needs HOOKLINE_ROUNDS of at least 20" : undefined;

describe.each(WAYS)("$way", ({ way, pooled, skip: noPooler }) => {
  const skip = noPooler ?? (pooled ? TOO_FEW : undefined);
  const title = (text: string): string => (skip === undefined ? text : `${text} (${skip})`);
  const timeout = (each: number, count: number): { timeout: number } => ({ timeout: 180_000 + each * count });

  const kills = rounds(pooled ? 60 : 200);
  test.skipIf(noPooler !== undefined)(
    noPooler === undefined ? `SIGKILL at random under load, ${kills} times` : title("SIGKILL at random under load"),
    timeout(10_000, kills),
    async () => {
      const cluster = await createCluster({ pooled });
      cluster.fill(3, 1);
      await cluster.load(60);
      for (let round = 0; round < kills; round += 1) {
        await cluster.progress();
        await cluster.listening(3);
        await sleepMs(0, 600);
        const victim = cluster.anyOf(cluster.living().filter((member) => member.port() !== undefined));
        victim.signal("SIGKILL");
        await victim.ended;
        cluster.fill(3, 1);
      }
      await cluster.finish(`kill -9, ${way}`, { kills });
    },
  );

  const stops = rounds(pooled ? 15 : 50);
  test.skipIf(skip !== undefined)(
    title(`SIGSTOP of a worker for longer than its lease, ${stops} times`),
    timeout(15_000, stops),
    async () => {
      const cluster = await createCluster({ pooled, leaseMs: LEASE_MS });
      cluster.fill(3, 1);
      await cluster.load(60);
      for (let round = 0; round < stops; round += 1) {
        await cluster.progress();
        await sleepMs(0, 600);
        const victim = cluster.anyOf(cluster.living().filter(({ works, port }) => works && port() !== undefined));
        victim.signal("SIGSTOP");
        await sleepMs(1.2 * LEASE_MS, 2 * LEASE_MS);
        victim.signal("SIGCONT");
      }
      await cluster.finish(`SIGSTOP, ${way}`, { stops });
    },
  );

  const cuts = rounds(pooled ? 12 : 40);
  test.skipIf(skip !== undefined)(
    title(`pg_terminate_backend of half of the connections, ${cuts} times`),
    timeout(10_000, cuts),
    async () => {
      const cluster = await createCluster({ pooled });
      cluster.fill(3, 1);
      await cluster.load(60);
      let cut = 0;
      for (let round = 0; round < cuts; round += 1) {
        await cluster.progress();
        await sleepMs(0, 600);
        const { rowCount } = await cluster.sql.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'chaos-%' and random() < 0.5",
        );
        cut += rowCount ?? 0;
      }
      await cluster.finish(`connections cut, ${way}`, { rounds: cuts, connections: cut });
      expect(cut).toBeGreaterThan(0);
    },
  );

  const restarts = rounds(pooled ? 6 : 20);
  test.skipIf(skip !== undefined)(
    title(`the server crashes and comes back, ${restarts} times`),
    timeout(30_000, restarts),
    async () => {
      const cluster = await createCluster({ pooled });
      cluster.fill(3, 1);
      await cluster.load(60);
      for (let round = 0; round < restarts; round += 1) {
        await cluster.progress();
        await sleepMs(0, 600);
        await cluster.server.stop("immediate");
        await sleepMs(0, 500);
        await cluster.server.start();
      }
      await cluster.finish(`immediate restarts, ${way}`, { restarts });
    },
  );

  const deploys = rounds(pooled ? 6 : 20);
  test.skipIf(skip !== undefined)(
    title(
      `rolling deploys, ${deploys} times: some processes have a handler that others lack, and it gets all of its jobs`,
    ),
    timeout(20_000, deploys),
    async () => {
      const cluster = await createCluster({ pooled });
      const lacking = ["email", "contact.changes", "calendarEvent"] as const;
      // One that has all handlers is always there.
      cluster.start();
      await cluster.working(1);
      cluster.start({ handles: lacking });
      cluster.start({ works: false });
      await cluster.load(40);
      for (let round = 0; round < deploys; round += 1) {
        await cluster.progress();
        const old = cluster.living().find(({ works }) => works);
        cluster.start(round % 2 === 0 ? {} : { handles: lacking });
        await cluster.listening(4);
        if (round % 2 === 0) await cluster.working(3);
        old?.signal("SIGTERM");
        await old?.ended;
      }
      await cluster.finish(`deploys, ${way}`, { deploys });
      expect((await cluster.sql.query("select from hookline.unhandled")).rows).toEqual([]);
    },
  );

  const deaths = rounds(pooled ? 5 : 10);
  test.skipIf(skip !== undefined)(
    title(`what a worker that is killed had, another one begins soon, ${deaths} times`),
    timeout(20_000, deaths),
    async () => {
      const cluster = await createCluster({ pooled });
      cluster.fill(2, 1);
      await cluster.load(20);
      const waits: number[] = [];
      for (let round = 0; round < deaths; round += 1) {
        await cluster.shared(2);
        await cluster.progress(20);
        const since = Date.now();
        const victim = cluster.anyOf(cluster.living().filter(({ works }) => works));
        victim.signal("SIGKILL");
        await victim.ended;
        waits.push(await cluster.worstDelay(since));
        cluster.fill(2, 1);
      }
      // A figure to look at: a busy machine moves it.
      await cluster.finish(`delay after a death, ${way}`, { deaths, "each ms": waits.join(" ") });
    },
  );
});
