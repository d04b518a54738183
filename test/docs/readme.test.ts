import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startCli, startNode } from "../cli/child.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { pageOf, root } from "./pages.ts";

const readme = pageOf("README.md");
const quickstart = pageOf("docs/start/quickstart.md");

/** For a busy machine. The program waits 10 s for an answer, of the app or of the process that replays: then once more. */
const PATIENT = { timeout: 300_000, retry: 2 };
const LONG_MS = 250_000;

test("the README has at most 200 lines", () => {
  expect(readme.text.split("\n").length).toBeLessThanOrEqual(201);
});

test("its program is at most 15 lines, and handles what the README sends", PATIENT, async () => {
  const code = programOf(readme);
  expect(code.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(15);
  const app = await startApp(code);
  const sent = app.send();
  expect(await sent.ended).toBe(0);
  expect(sent.out()).toContain("200");
  await app.says(/account 2002: created message m-1, attempt 1/);
  expect(await app.stop("SIGTERM")).toBe(0);
});

test("the quickstart: a crash, a dead letter and a replay go as it says", PATIENT, async () => {
  expect(programOf(quickstart)).toBe(programOf(readme));
  const [slow, failing] = [...quickstart.text.matchAll(/^```text\n(receiver\.on\(.*?)^```$/gms)].map(
    ([, code = ""]) => code,
  );
  const folder = newFolder();
  const withHandler = (handler = "", waits = ""): string =>
    programOf(readme)
      .replace(/^receiver\.on\(.*?^\}\);$/ms, handler.trim())
      .replace("10_000", waits);

  // Whoever reads the page stops it within 10 s. A busy machine may need longer.
  const first = await startApp(withHandler(slow, "600_000"), folder);
  expect(await first.send().ended).toBe(0);
  await eventually(async () => expect(await inbox(folder, "list --state running")).toContain("email.created"), LONG_MS);
  await first.stop("SIGINT");
  const second = await startApp(withHandler(slow, "1"), folder);
  await second.says(/created message m-1, attempt 2/);
  await second.stop("SIGTERM");

  const third = await startApp(withHandler(failing), folder);
  expect(await third.send().ended).toBe(0);
  await eventually(
    async () => expect(await inbox(folder, "list --state dead")).toContain("the database is down"),
    LONG_MS,
  );
  await third.stop("SIGTERM");
  const last = await startApp(programOf(readme), folder);
  expect(await inbox(folder, "replay --dead")).toContain("Replayed 1 job");
  await last.says(/created message m-1, attempt 1/);
  await last.stop("SIGTERM");
});

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
    eventually(async () => expect(await isUp()).toBe(true), LONG_MS),
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
