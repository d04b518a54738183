import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort, send } from "../support/http.ts";
import { ownBlocksOf } from "./page-commands.ts";
import { blocksOf, pageOf, root } from "./pages.ts";
import { openSandboxes, testWith } from "./sandbox.ts";

const page = pageOf("docs/deploy/gateway.md");
const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

const python = testWith("python3", "openssl");

python.test(`gateway: Python's standard library gets a genuine event, and nothing else${python.why}`, async () => {
  const [program = ""] = blocksOf(page, "python");
  expect(program.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(15);
  const [[secret = "", app = "", serve = ""] = []] = ownBlocksOf("docs/deploy/gateway.md", 1);
  const [appPort, port] = [await freePort(), await freePort()];
  const sandbox = sandboxes.open();
  const folder = sandbox.path("/srv/webhooks");
  writeFileSync(join(folder, "app.py"), program.replace("8000", String(appPort)));
  const here = serve.replace("8000", String(appPort)).replace(" serve ", ` serve --port ${port} `);
  await sandbox.run([
    `cd ${folder}`,
    secret,
    app.replace(" &", " >app.log 2>app.err & echo $! >app.pid"),
    `${here} >serve.log 2>&1 & echo $! >serve.pid`,
  ]);
  const app401 = await eventually(() => forged(`http://127.0.0.1:${appPort}/events`));
  expect(app401).toBe(401);
  const delivery = `SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:${port}/webhooks`;
  await eventually(() => sandbox.run([delivery]));
  const printed = await eventually(() => {
    const text = readFileSync(join(folder, "app.log"), "utf8");
    if (text === "") throw new Error(readFileSync(join(folder, "serve.log"), "utf8"));
    return text;
  });
  expect(printed).toContain("'type': 'email.created'");
  expect(printed.trim().split("\n")).toHaveLength(1);
  await sandbox.run(["kill $(cat app.pid serve.pid); wait"]);
});

test("gateway: the body that the page shows is one of the schema", async () => {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const [, file = ""] = /`node_modules\/hookline\/([^`]+\.schema\.json)`/.exec(page.text) ?? [];
  const [example = ""] = blocksOf(page, "json");
  const validate = new Ajv2020().compile(JSON.parse(readFileSync(join(root, file), "utf8")) as object);
  expect([validate(JSON.parse(example)), validate.errors]).toEqual([true, null]);
});

/** Signed with another secret. */
async function forged(url: string): Promise<number> {
  const [id, at, body] = ["an-id", String(Math.floor(Date.now() / 1_000)), '{"event":"forged"}'];
  const signature = createHmac("sha256", Buffer.alloc(32)).update(`${id}.${at}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": `v1,${signature}` };
  return (await send(url, { body, headers })).status;
}
