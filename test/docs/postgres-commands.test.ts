import { build } from "esbuild";
import { createReceiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { startNode } from "../cli/child.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { bodyOf, change, signedRequest } from "../support/make-delivery.ts";
import { newDatabase } from "../support/postgres.ts";
import { signedHeaders } from "../support/sign.ts";
import { ownBlocksOf } from "./page-commands.ts";
import { blocksOf, pageOf, root } from "./pages.ts";
import { has, openSandboxes } from "./sandbox.ts";

const SECRET = "a secret of these tests";
const page = pageOf("docs/deploy/postgres.md");
const [migrate = [], look = [], backUp = [], restore = []] = ownBlocksOf("docs/deploy/postgres.md", 4);

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

test("the program of the page stores and handles a delivery, and ends in order", async () => {
  const url = await emptyDatabase();
  const app = startNode([programOf()], { SIGNING_SECRET: SECRET, PORT: "0", DATABASE_URL: url });
  expect(await handles(app)).toBe(200);
  app.kill("SIGTERM");
  expect([await app.ended, app.err()]).toEqual([0, expect.not.stringContaining("rror")]);
});

test("the program of pods answers probes, stores and handles a delivery, and ends in order", async () => {
  const DATABASE_URL = await emptyDatabase();
  const [PORT, ADMIN_PORT] = [String(await freePort()), String(await freePort())];
  const app = startNode(["examples/deploy/pods.ts"], { SIGNING_SECRET: SECRET, DATABASE_URL, PORT, ADMIN_PORT });
  await app.says("out", /listening on /);
  const ask = (path: string) => fetch(`http://127.0.0.1:${ADMIN_PORT}${path}`).then(({ status }) => status);
  await eventually(async () => expect(await ask("/livez")).toBe(200));
  await eventually(async () => expect(await ask("/readyz")).toBe(200));
  const body = bodyOf({ payloads: [change("m-1", "created")] });
  const headers = { ...signedHeaders(body, { secret: SECRET }), Connection: "close" };
  const { status } = await fetch(`http://127.0.0.1:${PORT}/webhooks`, { method: "POST", headers, body });
  expect(status).toBe(200);
  await app.says("out", /created message m-1/);
  app.kill("SIGTERM");
  expect([await app.ended, app.err()]).toEqual([0, expect.not.stringContaining("rror")]);
});

test.each([
  ["in it", ["pg-native"]],
  ["beside it", ["pg"]],
])("a bundle of that program with pg %s does the same", async (_, external) => {
  const url = await emptyDatabase();
  const entry = programOf();
  const out = join(entry, "../bundle.js");
  const banner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
  const conditions = ["hookline-source"];
  const to = { outfile: out, banner: { js: banner }, platform: "node", format: "esm" } as const;
  await build({ ...to, entryPoints: [entry], bundle: true, external: [...external], conditions, logLevel: "silent" });
  const app = startNode([out], { SIGNING_SECRET: SECRET, PORT: "0", DATABASE_URL: url });
  expect(await handles(app)).toBe(200);
});

test("a role with the page's rights makes its tables", async () => {
  const url = new URL(await emptyDatabase());
  const role = `webhooks_${url.pathname.slice(-12)}`;
  const [statements = ""] = blocksOf(page, "text");
  await sql(
    url.href,
    statements.replaceAll("webhooks", role).replace("database app", `database ${url.pathname.slice(1)}`),
  );
  onTestFinished(async () => void (await sql(url.href, `drop owned by ${role} cascade; drop role ${role}`)));
  const asRole = new URL(url);
  [asRole.username, asRole.password] = [role, "change me"];
  expect(await deadLettersOf(asRole.href)).toBe(2);
});

const psql = missing("psql");
test.skipIf(psql !== "")(`tables are made by hand, once and again, and dead letters are looked at${psql}`, async () => {
  const url = await emptyDatabase();
  const sandbox = sandboxes.open({ DATABASE_URL: url });
  await sandbox.run([...migrate, ...migrate]);
  expect(await deadLettersOf(url, { migrate: false })).toBe(2);
  const [, stats, listed = "", would] = await sandbox.run(look);
  expect(stats).toMatch(/^dead +2$/m);
  expect(listed.match(/\bdead\b/g)).toHaveLength(2);
  expect(would).toMatch(/^Would replay 2 jobs/);
});

const dump = missing("psql", "pg_dump", "pg_restore");
test.skipIf(dump !== "")(`a backup is restored beside what came later${dump}`, async ({ skip }) => {
  const url = await emptyDatabase();
  const [server] = await sql(url, "show server_version");
  const [client, theirs] = [majorOf(spawnSync("pg_dump", ["--version"]).stdout), majorOf(JSON.stringify(server))];
  if (client < theirs) skip(`pg_dump ${client} reads no server of version ${theirs}`);
  expect(await deadLettersOf(url)).toBe(2);
  const sandbox = sandboxes.open({ DATABASE_URL: url });
  await sandbox.run(backUp);
  expect(await deadLettersOf(url)).toBe(4);
  const restored = await sandbox.run(restore);
  expect(restored.at(-1)).toMatch(/^dead +2$/m);
  // What was restored works.
  expect(await deadLettersOf(url)).toBe(4);
});

/** For the end of a test's name: which of these commands the machine has not. */
function missing(...names: readonly string[]): string {
  const absent = names.filter((name) => !has(name));
  return absent.length === 0 ? "" : ` (not here: ${absent.join(", ")})`;
}

/** The page's program in a folder of its own, inside the repository: elsewhere `hookline` could not be found by its name. */
function programOf(): string {
  const folder = mkdtempSync(join(root, "test/.readme-postgres-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const code = /^```ts file=app\.ts\n(.*?)^```$/ms.exec(page.text)?.[1] ?? "";
  writeFileSync(join(folder, "app.ts"), code);
  expect(readFileSync(join(folder, "app.ts"), "utf8")).toContain("postgresInbox(");
  return join(folder, "app.ts");
}

async function handles(app: ReturnType<typeof startNode>): Promise<number> {
  const [, port] = await app.says("out", /listening on .*port: (\d+)/);
  const body = bodyOf({ payloads: [change("m-1", "created")] });
  const headers = { ...signedHeaders(body, { secret: SECRET }), Connection: "close" };
  const { status } = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: "POST", headers, body });
  await app.says("out", /message m-1 of account 2002/);
  return status;
}

async function emptyDatabase(): Promise<string> {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  return connectionString;
}

/** Makes two more. @returns how many there are */
async function deadLettersOf(url: string, options: { readonly migrate?: boolean } = {}): Promise<number> {
  const receiver = createReceiver({ secret: SECRET, inbox: postgresInbox(url, options), log: false, attempts: 1 });
  receiver.on("email", () => {
    throw new TypeError("no");
  });
  await receiver.start();
  const body = bodyOf({ payloads: [change("bad-1"), change("bad-2")] });
  const request = signedRequest(body, { secret: SECRET, at: new Date() });
  expect(await receiver.receive(request)).toMatchObject({ status: 200 });
  await receiver.idle();
  const { jobs } = await receiver.jobs.list({ state: "dead" });
  await receiver.close();
  return jobs.length;
}

async function sql(url: string, statements: string): Promise<readonly object[]> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    return [await client.query<object>(statements)].flat().at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}

function majorOf(text: { toString(): string }): number {
  return Number(/(\d+)/.exec(text.toString())?.[1]);
}
