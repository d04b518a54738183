import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { startNode, type Child } from "../cli/child.ts";
import { testWith } from "../docs/sandbox.ts";
import { eventually } from "../support/eventually.ts";
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

test("Ctrl-C ends all processes of the cluster", async () => {
  const cluster = await startCluster(100_000);
  const [, list = ""] = await cluster.says("out", /processes ([\d, ]+)\./);
  const processes = list.split(", ").map(Number);
  expect(processes).toHaveLength(4);
  expect(processes.filter(isAlive)).toEqual(processes);

  cluster.kill("SIGINT");

  expect(await cluster.ended).toBe(130);
  await eventually(() => expect(processes.filter(isAlive)).toEqual([]));
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const nginx = testWith("nginx");
nginx.test(`nginx takes the configuration of the proxy${nginx.why}`, ({ onTestFinished: onEnd }) => {
  const copy = mkdtempSync(join(tmpdir(), "hookline-"));
  onEnd(() => rmSync(copy, { recursive: true }));
  // The names are known to Docker alone, and the port may be taken.
  const conf = readFileSync(join(folder, "nginx.conf"), "utf8")
    .replaceAll(/receiver-\d:/g, "127.0.0.1:")
    .replace("listen 80;", `listen unix:${join(copy, "socket")};`);
  writeFileSync(join(copy, "nginx.conf"), `pid nginx.pid;\n${conf}`);

  const { status, stderr } = spawnSync("nginx", ["-t", "-e", "stderr", "-p", copy, "-c", "nginx.conf"], {
    encoding: "utf8",
  });

  expect(status, stderr).toBe(0);
});

test("the containers run the files of the folder", () => {
  const compose = readFileSync(join(folder, "compose.yaml"), "utf8");
  const programs = [...compose.matchAll(/examples\/cluster\/(\S+\.ts)/g)].map(([, name]) => name);
  expect(programs).toEqual(["receiver.ts", "worker.ts"]);
  const proxy = readFileSync(join(folder, "nginx.conf"), "utf8");
  for (const [, name] of proxy.matchAll(/server (receiver-\d):3000/g))
    expect(compose).toContain(`  ${name}: *receiver`);
});
