import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { startCli, startNode } from "../cli/child.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { blocksOf, pages, root } from "./pages.ts";

const readme = pageOf("README.md");
const quickstart = pageOf("docs/start/quickstart.md");

test("the README has at most 200 lines", () => {
  expect(readme.text.split("\n").length).toBeLessThanOrEqual(201);
});

test("its commands are the ones that are tested", () => {
  const commands = blocksOf(readme, "sh").flatMap((block) => block.trim().split("\n"));
  expect(commands.map((line) => line.replace(/\s+#.*$/, ""))).toEqual([
    "SIGNING_SECRET=whsec node app.ts", // below
    "SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:3000/webhooks", // below
    "npm ci && npm start", // test/examples/tour.test.ts runs what `npm start` runs
    "npm ci && npm test", // this is it
  ]);
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(["start", "test", "docs:site"]));
  expect(Object.keys(manifest.bin)).toEqual(["hookline"]);
});

test("its program is at most 15 lines, and handles what the README sends", { timeout: 60_000 }, async () => {
  const code = programOf(readme);
  expect(code.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(15);
  const app = await startApp(code);
  const sent = app.send();
  expect(await sent.ended).toBe(0);
  expect(sent.out()).toContain("200");
  await app.says(/account 2002: created message m-1, attempt 1/);
  expect(await app.stop("SIGTERM")).toBe(0);
});

test("the quickstart: a crash, a dead letter and a replay go as it says", { timeout: 120_000 }, async () => {
  expect(programOf(quickstart)).toBe(programOf(readme));
  const [slow, failing] = [...quickstart.text.matchAll(/^```text\n(receiver\.on\(.*?)^```$/gms)].map(
    ([, code = ""]) => code,
  );
  const folder = newFolder();
  const withHandler = (handler = ""): string =>
    programOf(readme)
      .replace(/^receiver\.on\(.*?^\}\);$/ms, handler.trim())
      // Not in the test's time.
      .replace("10_000", "6_000");

  const first = await startApp(withHandler(slow), folder);
  expect(await first.send().ended).toBe(0);
  await eventually(async () => expect(await inbox(folder, "list --state running")).toContain("email.created"));
  await first.stop("SIGINT");
  const second = await startApp(withHandler(slow), folder);
  await second.says(/created message m-1, attempt 2/);
  await second.stop("SIGTERM");

  const third = await startApp(withHandler(failing), folder);
  expect(await third.send().ended).toBe(0);
  await eventually(async () => expect(await inbox(folder, "list --state dead")).toContain("the database is down"));
  await third.stop("SIGTERM");
  const last = await startApp(programOf(readme), folder);
  expect(await inbox(folder, "replay --dead")).toContain("Replayed 1 job");
  await last.says(/created message m-1, attempt 1/);
  await last.stop("SIGTERM");
});

test("the first subscription is made and deleted as the service's document says", async () => {
  const asked: unknown[] = [];
  const service = createServer((req, res) => {
    void readText(req).then((body) => {
      asked.push([req.method, req.url, req.headers.authorization, req.headers["content-type"], body]);
      res.end();
    });
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  onTestFinished(() => void service.close());
  const { port } = service.address() as AddressInfo;
  const env = { ...process.env, API: `http://127.0.0.1:${port}`, ACCESS_TOKEN: "t", SUBSCRIPTION: "1001" };
  for (const line of blocksOf(pageOf("docs/start/first-subscription.md"), "sh")) {
    if (!line.startsWith("curl ")) continue;
    const [code] = (await once(spawn("sh", ["-c", line], { env }), "close")) as [number];
    expect(code).toBe(0);
  }
  const json = "application/json";
  expect(asked).toEqual([
    ["POST", "/v1/subscriptions", "Bearer t", json, expect.stringContaining('"resource":"/email/messages"')],
    ["DELETE", "/v1/subscriptions/1001", "Bearer t", undefined, ""],
  ]);
});

function pageOf(file: string) {
  const page = pages.find((one) => one.file === file);
  if (page === undefined) throw new Error(`There is no ${file}.`);
  return page;
}

function programOf({ text }: { readonly text: string }): string {
  return /^```ts file=app\.ts\n(.*?)^```$/ms.exec(text)?.[1] ?? "";
}

/** Inside the repository, or `hookline` could not be found by its name. */
function newFolder(): string {
  const folder = mkdtempSync(join(root, "test/.readme-app-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A program of the pages that listens, and what the pages send it. */
async function startApp(code: string, folder = newFolder()) {
  const port = await freePort();
  writeFileSync(join(folder, "app.ts"), code);
  const env = { SIGNING_SECRET: "whsec", PORT: String(port) };
  const app = startNode([join(folder, "app.ts")], env, "", folder);
  const isUp = () => fetch(`http://localhost:${port}/`).then(() => true);
  await Promise.race([
    eventually(async () => expect(await isUp()).toBe(true)),
    app.ended.then(() => Promise.reject(new Error(`It ended:\n${app.err()}`))),
  ]);
  return {
    send: () => startCli(["send", "email.created", "--to", `http://localhost:${port}/webhooks`], env),
    says: (pattern: RegExp) => app.says("out", pattern),
    stop(signal: NodeJS.Signals) {
      app.kill(signal);
      return app.ended;
    },
  };
}

async function inbox(folder: string, command: string): Promise<string> {
  const child = startCli(["inbox", ...command.split(" "), "--inbox", join(folder, "inbox.db")]);
  await child.ended;
  return child.out() + child.err();
}
