import { expect, test } from "vitest";
import { sleepMs } from "../matrix/fleet.ts";
import { report } from "../matrix/rounds.ts";
import { createCluster, type Cluster } from "./cluster.ts";

// The rows of chaos.test.ts find what they look for: here something is broken on purpose, in the database of the test.

const LEASE_MS = 2_000;

/** Replaces a function of the schema by itself with another text in one place. */
async function breakFunction({ sql }: Cluster, name: string, text: RegExp, by: string): Promise<void> {
  const { rows } = await sql.query<{ source: string }>(
    "select pg_get_functiondef(oid) as source from pg_proc where proname = $1 and pronamespace = 'hookline'::regnamespace",
    [name],
  );
  const source = rows[0]?.source ?? "";
  const broken = source.replace(text, by);
  expect(broken).not.toBe(source);
  await sql.query(broken);
}

/** Suspends one worker for longer than its lease. */
async function suspend(cluster: Cluster): Promise<void> {
  await cluster.shared(2);
  await cluster.progress(20);
  const victim = cluster.living().find(({ works }) => works);
  victim?.signal("SIGSTOP");
  await sleepMs(2 * LEASE_MS);
  victim?.signal("SIGCONT");
  await cluster.progress(200);
}

/** What is broken does harm by chance, and seldom where the machine has other work: so it gets some runs. */
async function untilFound(rules: readonly string[], run: () => Promise<readonly string[]>): Promise<void> {
  let isFound = false;
  for (let runs = 0; runs < 5 && !isFound; runs += 1) isFound = (await run()).some((rule) => rules.includes(rule));
  expect(isFound).toBe(true);
}

function found(row: string, { wrong, runs }: Awaited<ReturnType<Cluster["giveUp"]>>): readonly string[] {
  const rules = [...new Set(wrong.map((text) => text.split(" ")[0] ?? ""))];
  report(`broken: ${row}`, { runs, wrong: wrong.length, rules: rules.join(" "), first: wrong[0] });
  return rules;
}

test("without the fence a suspended worker goes on where another one works: the checker says so", () =>
  untilFound(["ORDER", "OVERLAP", "TWICE"], async () => {
    const cluster = await createCluster({ leaseMs: LEASE_MS });
    await breakFunction(cluster, "work", /and w\.alive/, "");
    cluster.fill(2, 1);
    await cluster.load(40);
    await suspend(cluster);
    return found("fence", await cluster.giveUp(5_000));
  }));

test("with a cut at the last id of all writers, instead of each, what is committed late is passed over: the checker says so", () =>
  untilFound(["LOST"], async () => {
    const cluster = await createCluster();
    await breakFunction(cluster, "store", /(base := [^;]*next_block[^;]*;)/, "$1 perform pg_sleep(random() * 0.05);");
    await breakFunction(
      cluster,
      "follow",
      /job\.writer = moved\.writer/,
      "job.id > (select coalesce(max((k->>2)::bigint), 0) from jsonb_array_elements(known) as k)",
    );
    cluster.fill(2, 1);
    await cluster.load(40);
    await cluster.progress(300);
    return found("vector", await cluster.giveUp(5_000));
  }));

test("where shards change hands without their owner's doing, both work: the checker says so", () =>
  untilFound(["ORDER", "OVERLAP", "TWICE"], async () => {
    const cluster = await createCluster();
    cluster.fill(2, 0);
    await cluster.load(40);
    await cluster.progress(40);
    for (let times = 0; times < 3; times += 1) {
      await cluster.sql.query(
        "update hookline.shard set owner = (select id from hookline.worker where alive and id <> owner limit 1) where owner is not null",
      );
      await cluster.progress(100);
    }
    return found("hand-over", await cluster.giveUp(5_000));
  }));
