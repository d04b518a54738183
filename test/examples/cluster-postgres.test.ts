import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { startNode, type Child } from "../cli/child.ts";
import { newDatabase } from "../support/postgres.ts";

const folder = join(import.meta.dirname, "../../examples/cluster");

async function startCluster(messages: number): Promise<Child> {
  const database = await newDatabase();
  onTestFinished(() => database.drop());
  const [, ...args] = manifest.scripts["example:cluster"].split(" ");
  return startNode(args, { DATABASE_URL: database.connectionString, MESSAGES: String(messages) });
}

test("a worker of the cluster is killed, and all is handled in order", async () => {
  const cluster = await startCluster(10);

  expect(await cluster.ended, cluster.out() + cluster.err()).toBe(0);

  const rows = cluster.out().split("\n");
  expect(rows).toContainEqual(expect.stringMatching(/^kill -9 of worker \d+/));
  expect(rows).toContain("answered 200    80");
  expect(rows).toContain("handled         80");
  expect(rows).toContain("lanes in order  all");
  expect(rows).toContain("Nothing was lost.");
});

test("Ctrl-C ends the cluster", async () => {
  const cluster = await startCluster(100_000);
  await cluster.says("out", /^kill -9 of worker/m);

  cluster.kill("SIGINT");

  expect(await cluster.ended).toBe(130);
});

test("the containers run the files of the folder", () => {
  const compose = readFileSync(join(folder, "compose.yaml"), "utf8");
  const programs = [...compose.matchAll(/examples\/cluster\/(\S+\.ts)/g)].map(([, name]) => name);
  expect(programs).toEqual(["receiver.ts", "worker.ts"]);
  const nginx = readFileSync(join(folder, "nginx.conf"), "utf8");
  for (const [, name] of nginx.matchAll(/server (receiver-\d):3000/g))
    expect(compose).toContain(`  ${name}: *receiver`);
});
