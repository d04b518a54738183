import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";
import { ownBlocksOf } from "./page-commands.ts";
import { blocksOf, pageOf, root } from "./pages.ts";
import { openSandboxes, testWith } from "./sandbox.ts";

const page = pageOf("docs/deploy/server.md");
const unit = readFileSync(join(root, "deploy/systemd/hookline.service"), "utf8");
const program = /^```ts file=\S*server\.ts\n(.*?)^```$/ms.exec(page.text)?.[1] ?? "";
const [, , , deploy = []] = ownBlocksOf(page.file, 4);

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

/** What the unit says of one setting. */
const settingOf = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";

/** Four starts of the program on a busy machine. */
const LONG = { timeout: 240_000 };

/** `nobody` of most systems. Only root may start a process as somebody else. */
const someUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

describe("the program of server.md", () => {
  test("fits the unit, the proxy, the probes and the runbook", () => {
    const of = (name: string): string => new RegExp(`${name}: \\w+ = "([^"]+)"`).exec(program)?.[1] ?? "";
    expect(of("INBOX")).toBe(`/var/lib/${settingOf("StateDirectory")}/inbox.db`);
    expect(settingOf("ExecStart")).toBe("/usr/bin/node app.js");
    expect(page.text).toContain(`proxy_pass http://${of("HOST")}:${of("PORT")};`);
    for (const file of ["docs/operate/runbook.md", "docs/operate/monitoring.md"])
      expect(pageOf(file).text).toContain(`${of("HOST")}:${of("ADMIN_PORT")}`);
    expect(page.text).toContain(`/var/lib/${settingOf("StateDirectory")}/inbox.db`);
    const grace = Number(settingOf("TimeoutStopSec"));
    const drainMs = Number(/drainMs: ([\d_]+)/.exec(program)?.[1]?.replace("_", ""));
    expect(grace * 1_000).toBeGreaterThan(5_000 + drainMs + 1_000);
  });

  test("stores beside nothing but its own folder, answers probes, and stops in order, as the unit's user would", async () => {
    const app = await startApp();
    expect(await app.statusOf("/livez")).toBe(200);
    expect(await app.statusOf("/readyz")).toBe(200);
    expect(await app.post("m-1")).toBe(200);
    await eventually(() => expect(app.printed()).toContain("account 2002: created message m-1"));
    const stats = (await (await fetch(`${app.admin}/stats`)).json()) as object;
    expect(stats).toMatchObject({ stats: { stored: 1 }, health: { ready: true, problems: [] } });
    expect(await (await fetch(`${app.admin}/metrics`)).text()).toContain("hookline_ready 1");
    expect(statSync(app.file).mode & 0o777).toBe(0o600);
    // Nobody asks the admin port through the proxy.
    expect(await fetch(`${app.url}/livez`).then(({ status }) => status)).toBe(404);
    expect(await app.stop()).toBe(0);
  });

  const nginx = testWith("nginx", "curl");
  nginx.test(`two instances are restarted without a refused delivery${nginx.why}`, LONG, async () => {
    const first = await startApp();
    const beside = await startApp({ file: first.file });
    const port = await freePort();
    const sandbox = sandboxes.open();
    const [server = "", upstream = "", pass = ""] = blocksOf(page, "nginx");
    const uses = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((use) => `${use}_temp_path ${use};`)
      .join(" ");
    const instances = new Map([
      ["3000", first.url],
      ["3002", beside.url],
    ]);
    writeFileSync(
      sandbox.path("/nginx.conf"),
      `daemon off; master_process off; pid nginx.pid; events {}
      http { access_log off; ${uses}
      ${upstream.replaceAll(/127\.0\.0\.1:(\d+)/g, (_, of: string) => instances.get(of)?.replace("http://", "") ?? "")}
      ${server
        .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
        .replaceAll(/^ *ssl_.*$/gm, "")
        .replace("proxy_pass http://127.0.0.1:3000;", pass)} }`,
    );
    await sandbox.run([`nginx -e stderr -p ${sandbox.path("/")} -c nginx.conf >"$JOURNAL" 2>&1 &`]);
    await eventually(() => fetch(`http://127.0.0.1:${port}/webhooks`));
    const answers: number[] = [];
    let isOver = false;
    const sender = (async () => {
      for (let count = 0; !isOver; count += 1)
        answers.push(await first.post(`m-${count}`, `http://127.0.0.1:${port}/webhooks`));
    })();
    const waits = deploy.filter((line) => line.startsWith("curl "));
    expect(deploy.filter((line) => !line.startsWith("curl "))).toEqual([
      "systemctl restart webhooks@1",
      "systemctl restart webhooks@2",
    ]);
    for (const [index, app] of [first, beside].entries()) {
      const before = answers.length;
      await eventually(() => expect(answers.length).toBeGreaterThan(before + 5));
      expect(await app.stop()).toBe(0);
      await startApp({ file: app.file, ports: app.ports, isUp: false });
      const wait = waits[index] ?? "";
      expect(wait).toContain(index === 0 ? ":3001/readyz" : ":3003/readyz");
      await sandbox.run([wait.replace(/http:\S+/, `${app.admin}/readyz`)]);
    }
    const before = answers.length;
    await eventually(() => expect(answers.length).toBeGreaterThan(before + 5));
    isOver = true;
    await sender;
    expect(new Set(answers)).toEqual(new Set([200]));
    await sandbox.run(["kill $!; wait $! || true"]);
  });
});

interface Start {
  /** @default a file in a new folder */
  readonly file?: string;
  /** @default free ones */
  readonly ports?: { readonly PORT: string; readonly ADMIN_PORT: string };
  /** Whether to wait until it is ready. @default true */
  readonly isUp?: boolean;
}

/** The page's program, in a folder that it cannot write to, as somebody who owns the folder of the file alone. */
async function startApp(options: Start = {}) {
  // Inside the repository, where Express is found.
  const folder = mkdtempSync(join(root, "test/.readme-server-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "app.js"), program);
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/hookline"));
  chmodSync(folder, 0o555);
  const file = options.file ?? join(makeStateFolder(), "inbox.db");
  const ports = options.ports ?? { PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) };
  const child = spawn(
    "sh",
    ["-c", `umask ${settingOf("UMask")}; exec "${process.execPath}" --conditions=hookline-source app.js`],
    {
      cwd: folder,
      env: { PATH: process.env["PATH"], SIGNING_SECRET: "whsec", INBOX: file, ...ports },
      stdio: ["ignore", "pipe", "pipe"],
      ...someUser,
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  const errors = readText(child.stderr);
  const ended = once(child, "close") as Promise<[number | null]>;
  const [url, admin] = [ports.PORT, ports.ADMIN_PORT].map((port) => `http://127.0.0.1:${port}`) as [string, string];
  const statusOf = (path: string): Promise<number> => fetch(`${admin}${path}`).then(({ status }) => status);
  if (options.isUp !== false)
    await Promise.race([
      eventually(async () => expect(await statusOf("/readyz")).toBe(200)),
      ended.then(async ([code]) => Promise.reject(new Error(`It ended with ${code}:\n${await errors}`))),
    ]);
  return {
    url,
    admin,
    file,
    ports,
    statusOf,
    printed: () => out,
    async post(id: string, to = `${url}/webhooks`): Promise<number> {
      const body = bodyOf({ payloads: [change(id, "created")] });
      const headers = { ...signedHeaders(body, { secret: "whsec" }), Connection: "close" };
      return (await fetch(to, { method: "POST", headers, body })).status;
    },
    async stop(): Promise<number | null> {
      child.kill("SIGTERM");
      return (await ended)[0];
    },
  };
}

function makeStateFolder(): string {
  const folder = mkdtempSync(join(root, "test/.readme-state-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const state = join(folder, "webhooks");
  mkdirSync(state, { mode: Number.parseInt(settingOf("StateDirectoryMode"), 8) });
  chmodSync(folder, 0o755);
  if (someUser.uid !== undefined) chownSync(state, someUser.uid, someUser.gid);
  return state;
}
