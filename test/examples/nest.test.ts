import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { folderFor } from "../adapters/inbox/on-disk.ts";
import { startNode, type Child } from "../cli/child.ts";
import { freePort, send } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";

const file = "examples/nest.ts";
const SECRET = "a secret of the shop";

test("the example says how to try it, and is short", () => {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(lines.length).toBeLessThan(40);
  expect(lines[1]).toContain("npx esbuild nest.ts | SIGNING_SECRET=whsec node --input-type=module -");
  expect(lines[2]).toMatch(/^\/\/ and then: SIGNING_SECRET=whsec npx hookline send \S+ --to http:\S+$/);
});

test("the example receives, handles and closes", async () => {
  const child = start({ SIGNING_SECRET: SECRET, PORT: String(await freePort()) });
  const [, url = ""] = await child.says("out", /listening on (\S+)\n/);
  const payloads = [{ id: "m-1", changeType: "created" }];
  const body = JSON.stringify({ subscription: 1001, accountId: 2002, resource: "/email/messages", payloads });
  for (const [secret, status] of [
    [SECRET, 200],
    ["another", 401],
  ] as const) {
    expect(await send(url, { body, headers: signedHeaders(body, { secret }) })).toMatchObject({ status, body: "" });
  }
  await child.says("out", /account 2002: fetched message m-1/);
  child.kill("SIGTERM");
  // When all is closed, Nest gives the process the signal again.
  expect(await child.ended, child.out() + child.err()).toBeNull();
});

test("the example says what is missing where there is no secret", async () => {
  const child = start();
  expect(await child.ended).toBe(1);
  expect(child.err()).toContain("secret-missing");
  expect(child.out()).toBe("");
});

/** As its second line says: without its decorators, from standard input. */
function start(env: Readonly<Record<string, string>> = {}): Child {
  const [made] = buildSync({ entryPoints: [file], write: false }).outputFiles;
  const INBOX = join(folderFor(), "inbox.db");
  return startNode(["--input-type=module", "-"], { ...env, INBOX }, made?.text);
}
