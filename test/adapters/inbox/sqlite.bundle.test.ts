import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { startNode } from "../../cli/child.ts";
import { bodyOf, change } from "../../support/make-delivery.ts";
import { signedHeaders } from "../../support/sign.ts";
import { folderFor } from "./on-disk.ts";

const root = join(import.meta.dirname, "../../..");
const SIGNING_SECRET = "a secret of these tests";

test("a bundle by esbuild as docs/deploy/bundlers.md builds it stores and handles a delivery, far from the sources", async () => {
  const { program, file } = await bundled();
  const app = startNode([program], { SIGNING_SECRET, PORT: "0" });
  const [, port] = await app.says("out", /listening on .*port: (\d+)/);
  const body = bodyOf({ payloads: [change("m-1", "created")] });
  const headers = signedHeaders(body, { secret: SIGNING_SECRET });
  const { status } = await fetch(`http://127.0.0.1:${port}/webhooks`, { method: "POST", headers, body });
  expect(status).toBe(200);
  await app.says("out", /message m-1 of account 2002/);
  expect(readFileSync(file).subarray(0, 15).toString()).toBe("SQLite format 3");
});

test("a bundle without the thread's file does not start, and its error says what the build lacks", async () => {
  const { program } = await bundled({ hasThreadUrl: false });
  const app = startNode([program], { SIGNING_SECRET });
  expect(await app.ended).toBe(1);
  expect(app.err()).toContain("code: 'thread-missing'");
  expect(app.err()).toContain("make `hookline/sqlite-thread` an entry of the build");
});

test("the commit thread loads no package, and of src/ a few rules: each inbox starts one", async () => {
  const { metafile } = await build({
    entryPoints: [join(root, "adapters/inbox/sqlite/thread/commit-thread.ts")],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    conditions: ["hookline-source"],
  });
  const others = Object.keys(metafile.inputs).filter((path) => !path.startsWith("adapters/inbox/sqlite/"));
  expect(others.filter((path) => path.startsWith("node_modules/"))).toEqual([]);
  expect(others).not.toContain("src/adapter.ts");
  expect(others.length).toBeLessThanOrEqual(10);
});

/** The program of the page, built by the page's script, alone in a folder. */
async function bundled({ hasThreadUrl = true } = {}) {
  const page = readFileSync(join(root, "docs/deploy/bundlers.md"), "utf8");
  const codeOf = (name: string): string => new RegExp(`file=${name}\n(.*?)^\`\`\`$`, "ms").exec(page)?.[1] ?? "";
  // Inside the repository, or `hookline` could not be found by its name.
  const folder = mkdtempSync(join(root, "test/.readme-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const away = folderFor();
  const file = join(away, "inbox.db");
  const app = codeOf("app.ts").replace('"inbox.db"', JSON.stringify(file));
  writeFileSync(join(folder, "app.ts"), hasThreadUrl ? app : app.replace(/threadUrl: .*(?= })/, ""));
  const sources = 'bundle: true, conditions: ["hookline-source"],';
  writeFileSync(join(folder, "build.js"), codeOf("build.js").replace("bundle: true,", sources));
  await promisify(execFile)(process.execPath, ["build.js"], { cwd: folder });
  cpSync(join(folder, "out"), away, { recursive: true });
  writeFileSync(join(away, "package.json"), '{ "type": "module" }');
  return { program: join(away, "app.js"), file };
}
