import { createReceiver, memoryInbox } from "hookline";
import { nodeReceiver } from "hookline/node";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import mounts from "../mounts/package.json" with { type: "json" };
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { commandsOf, common, ownBlocksOf, pagesWithOwn } from "./page-commands.ts";
import { blocksOf, pageOf, pages, root } from "./pages.ts";
import { openSandboxes, testWith } from "./sandbox.ts";

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

/** `check` pauses 200 ms for an early 413. On a very busy machine it comes later, and is lost with the connection. */
const AGAIN = { retry: 2 };
const WELL_CHECKED = /All \d+ answers are as they should be/;

test("every command of the pages is run by a test", () => {
  const others = [
    "operator-commands.test.ts",
    "postgres-commands.test.ts",
    "emulator-commands.test.ts",
    "deploy-commands.test.ts",
    "gateway-page.test.ts",
    "server-page.test.ts",
  ]
    .map((file) => readFileSync(join(import.meta.dirname, file), "utf8"))
    .join("\n");
  for (const { file } of pagesWithOwn) expect(others).toContain(`ownBlocksOf("${file}", `);
  const all = pages.flatMap(commandsOf);
  for (const [line, file] of common.elsewhere) {
    expect(all).toContain(line);
    expect(existsSync(join(root, file))).toBe(true);
  }
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(["start", "test"]));
});

test.each(common.installs)("$page.file installs packages that are tested here, and uses them", ({ page, line }) => {
  const names = line.split(" ").slice(2);
  const tested = { ...manifest.devDependencies, ...mounts.dependencies, [manifest.name]: "" };
  expect(Object.keys(tested)).toEqual(expect.arrayContaining(names));
  // React is what Next stands on, Nest finds its platform by itself, BullMQ its client, and the inbox its driver.
  const unseen = /^(?:ioredis|next|pg|react|react-dom|@nestjs\/platform-express)$/;
  const used = [...page.text.matchAll(/ from "((?:@[^/"]+\/)?[^/"]+)/g)].map(([, name]) => name);
  expect(used).toEqual(expect.arrayContaining(names.filter((name) => !unseen.test(name))));
});

describe("requests of the pages", () => {
  /** The secret of each path that pages name. */
  const secrets = {
    "/webhooks": ["whsec", "..."],
    "/shop/webhooks": "secret-of-shop",
    "/api/webhooks": "whsec",
    "/": "whsec",
  };
  const receivers = new Map(
    Object.entries(secrets).map(([path, secret]) => [
      path,
      createReceiver({ secret, inbox: memoryInbox(), log: false }),
    ]),
  );
  const asked: unknown[] = [];
  const server = createServer((req, res) => {
    const [path = ""] = req.url?.split("?") ?? [];
    const receiver = receivers.get(path);
    if (receiver !== undefined) nodeReceiver(receiver)(req, res);
    else
      void readText(req).then((body) => {
        asked.push([req.method, path, req.headers.authorization, req.headers["content-type"], body]);
        res.writeHead(path.startsWith("/v1/") ? 200 : 404).end();
      });
  });
  let url = "";

  beforeAll(async () => {
    for (const receiver of receivers.values()) await receiver.on("*", () => {}).start();
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.close();
    for (const receiver of receivers.values()) await receiver.close();
  });

  test.concurrent.each(common.requests)("%s", AGAIN, async (line) => {
    const here = line.replace(/ --to (?:https:\/\/example\.com|http:\/\/localhost:\d+)(?=\/)/, ` --to ${url}`);
    expect(here).toContain(url);
    const printed = await sandboxes.open().run([here]);
    expect(printed[0]).toMatch(line.includes(" send ") ? /^200 in / : WELL_CHECKED);
  });

  test.concurrent("runbook: the request that its program captures is explained", async () => {
    const page = pageOf("docs/operate/runbook.md");
    const program = blocksOf(page, "ts").find((code) => code.includes("captured")) ?? "";
    const [line = ""] = ownBlocksOf(page.file, 4)[3] ?? [];
    const folder = mkdtempSync(join(root, "test/.readme-refused-"));
    try {
      writeFileSync(join(folder, "program.ts"), program);
      const sandbox = sandboxes.open();
      await sandbox.run([`cd "${folder}"`, `"${process.execPath}" --conditions=hookline-source program.ts`]);
      const explained = (secret: string) => sandbox.tryRun(line.replace("=...", `=${secret}`));
      expect(await explained("whsec")).toMatchObject({ code: 1, printed: expect.stringContaining("secret-wrong") });
      // What it was signed with: so its bytes are all there.
      expect(await explained("another")).toMatchObject({ code: 0 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  const curl = testWith("curl");
  curl.test(`the service's API is asked as its document says${curl.why}`, async () => {
    await sandboxes.open({ API: url, ACCESS_TOKEN: "t", SUBSCRIPTION: "1001" }).run(common.apiCalls);
    const json = "application/json";
    expect(asked).toEqual([
      ["DELETE", "/v1/subscriptions/1001", "Bearer t", undefined, ""],
      ["POST", "/v1/subscriptions", "Bearer t", json, expect.stringContaining('"resource":"/email/messages"')],
    ]);
  });

  const nginx = testWith("nginx");
  nginx.test(`server: nginx, as the page sets it up, changes no answer${nginx.why}`, AGAIN, async () => {
    const page = pageOf("docs/deploy/server.md");
    const [location = ""] = / {4}location [^]*?\n {4}\}/.exec(blocksOf(page, "nginx")[0] ?? "") ?? [];
    const sandbox = sandboxes.open();
    const port = await freePort();
    const uses = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((use) => `${use}_temp_path ${use};`)
      .join(" ");
    writeFileSync(
      sandbox.path("/nginx.conf"),
      `daemon off; master_process off; pid nginx.pid; events {}
      http { access_log off; ${uses} server { listen 127.0.0.1:${port};
      ${location.replace("http://127.0.0.1:3000", url)} } }`,
    );
    await sandbox.run([`nginx -e stderr -p ${sandbox.path("/")} -c nginx.conf >"$JOURNAL" 2>&1 &`]);
    await eventually(() => fetch(`http://127.0.0.1:${port}/webhooks`));
    const check = commandsOf(page).filter((line) => line.includes(" check "));
    const through = check.map((line) => line.replace("https://example.com", `http://127.0.0.1:${port}`));
    expect(await sandbox.run(through)).toEqual([expect.stringMatching(WELL_CHECKED)]);
    await sandbox.run(["kill $!; wait $!"]);
  });
});
