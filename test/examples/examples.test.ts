import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { folderFor } from "../adapters/inbox/on-disk.ts";
import { startCli, startNode } from "../cli/child.ts";
import { until } from "../support/event-loop.ts";
import { freePort, send } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";

const folder = join(import.meta.dirname, "../../examples");
const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));

const SECRET = "a secret of the shop";
const CRM_SECRET = "a secret of the CRM";

interface Posted {
  readonly resource?: string;
  readonly payloads?: readonly object[];
  /** @default what the example itself prints as its URL */
  readonly path?: string;
  readonly secret?: string;
  /** @default 200 */
  readonly status?: number;
}

const created = (id: string): object => ({ id, changeType: "created" });

/** What is posted to each example that serves, and what it then prints. */
const SERVERS: Readonly<Record<string, { readonly posts: readonly Posted[]; readonly prints: readonly string[] }>> = {
  "express.ts": {
    posts: [
      { payloads: [created("m-1"), { id: "m-2", changeType: "deleted" }] },
      { secret: "another", status: 401 },
      { path: "/elsewhere", status: 404 },
    ],
    prints: ["account 2002: created message m-1, attempt 1", "account 2002: look whether message m-2 is gone"],
  },
  "koa.ts": {
    posts: [
      { payloads: [created("m-1")] },
      { resource: "/calendars/team/events", payloads: [created("e-1")] },
      { resource: "/calendars/home/events" },
      { secret: "another", status: 401 },
      { path: "/elsewhere", status: 200 },
    ],
    prints: ["created message m-1", "created event e-1 of team", "something changed in home"],
  },
  "node.ts": {
    posts: [
      { payloads: [created("m-1"), created("m-404")] },
      { secret: "another", status: 401 },
      { path: "/elsewhere", status: 404 },
    ],
    prints: ["account 2002: fetched message m-1 at attempt 2", "gave up on email.created: there is no such message"],
  },
  "hono.ts": {
    posts: [{ payloads: [created("m-1")] }, { secret: "another", status: 401 }, { path: "/elsewhere", status: 404 }],
    prints: ["account 2002: created message m-1, attempt 1"],
  },
  "fastify.ts": {
    posts: [
      { payloads: [created("m-1")] },
      { payloads: [created("m-2")], path: "/webhooks/crm" },
      { secret: "another", status: 401 },
      { path: "/elsewhere", status: 404 },
    ],
    prints: ["shop: created message m-1", "crm: created message m-2"],
  },
  "fetch.ts": {
    posts: [{ payloads: [created("m-1")] }, { secret: "another", status: 401 }, { path: "/elsewhere", status: 404 }],
    prints: ["account 2002: created message m-1"],
  },
  "middleware.ts": {
    posts: [{ payloads: [created("m-1")] }, { secret: "another", status: 401 }],
    prints: ["Ann is notified of message m-1", "email.created, attempt 1: "],
  },
  "multi-tenant.ts": {
    posts: [
      { payloads: [created("m-1")] },
      { payloads: [created("m-2")], path: "/webhooks/crm", secret: CRM_SECRET },
      { path: "/webhooks/crm", status: 401 },
      { path: "/webhooks/unknown", status: 401 },
    ],
    prints: ["shop: created message m-1", "crm: created message m-2"],
  },
  "own-queue.ts": {
    posts: [{ payloads: [created("m-1")] }, { payloads: [created("m-2")] }, { secret: "another", status: 401 }],
    prints: ["created message m-1", "created message m-2"],
  },
};

/** They have tests of their own, beside this one. */
const ELSEWHERE = [
  "aws-lambda.ts",
  "azure.ts",
  "gcp.ts",
  "nest.ts",
  "netlify.ts",
  "next.ts",
  "tour.ts",
  "vercel.ts",
  "workers.ts",
];

describe("the examples", () => {
  test("are all run by a test", () => {
    expect(files.toSorted()).toEqual([...Object.keys(SERVERS), ...ELSEWHERE, "testing.ts"].toSorted());
  });

  test.each(files.filter((name) => !ELSEWHERE.includes(name)))("are short, and say how to try them: %s", (name) => {
    const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
    expect(lines.length).toBeLessThan(40);
    const head = lines.slice(
      0,
      lines.findIndex((line) => !line.startsWith("//")),
    );
    expect(head.length).toBeLessThanOrEqual(3);
    const run = `node ${name}`;
    if (name === "testing.ts") {
      expect(head.slice(1)).toEqual([`// Try it: ${run}`]);
      return;
    }
    expect(head[1]).toBe(`// Try it: SIGNING_SECRET=whsec ${run}`);
    expect(head[2]).toMatch(/^\/\/ and then: SIGNING_SECRET=whsec npx hookline send \S+ --to http:\S+$/);
    const [url = ""] = head[2]?.match(/http:\S+$/) ?? [];
    expect(lines.join("\n").replaceAll("${port}", "3000")).toContain(`listening on ${url}\``);
  });

  test.each(Object.entries(SERVERS))("receive, handle and close: %s", async (name, { posts, prints }) => {
    const queue = mkdtempSync(join(tmpdir(), "hookline-"));
    onTestFinished(() => rmSync(queue, { recursive: true, force: true }));
    const child = startNode([`examples/${name}`], {
      SIGNING_SECRET: SECRET,
      CRM_SIGNING_SECRET: CRM_SECRET,
      PORT: String(await freePort()),
      QUEUE: queue,
      INBOX: join(folderFor(), "inbox.db"),
    });
    const [, url = ""] = await child.says("out", /listening on (\S+)\n/);
    const [, args = ""] = /^\/\/ and then: .* npx hookline (.*)$/m.exec(readFileSync(join(folder, name), "utf8")) ?? [];
    const sent = startCli(args.replace(":3000/", `:${new URL(url).port}/`).split(" "), { SIGNING_SECRET: SECRET });
    expect(await sent.ended, sent.err()).toBe(0);
    for (const { path, status = 200, secret = SECRET, resource = "/email/messages", payloads } of posts) {
      const body = JSON.stringify({ subscription: 1001, accountId: 2002, resource, payloads });
      const target = new URL(path ?? url, url).href;
      const answer = await send(target, { body, headers: signedHeaders(body, { secret }) });
      expect(answer.status, target).toBe(status);
    }
    for (const line of prints) await child.says("out", new RegExp(line));
    child.kill("SIGTERM");
    expect(await child.ended, child.out() + child.err()).toBe(0);
    expect(readdirSync(queue)).toEqual([]);
  });

  test("hand deliveries to another process: own-queue.ts", async () => {
    const queue = mkdtempSync(join(tmpdir(), "hookline-"));
    onTestFinished(() => rmSync(queue, { recursive: true, force: true }));
    const env = { SIGNING_SECRET: SECRET, PORT: String(await freePort()), QUEUE: queue };
    const first = startNode(["examples/own-queue.ts"], env);
    const [, url = ""] = await first.says("out", /listening on (\S+)\n/);
    await deliver(url, "m-1");
    const [, worker = ""] = await first.says("out", /process (\d+): created message m-1/);
    await until(() => readdirSync(queue).length === 0);

    // Without its worker it still keeps, and answers 200.
    process.kill(Number(worker), "SIGKILL");
    await deliver(url, "m-2");
    first.kill("SIGTERM");
    expect(await first.ended, first.err()).toBe(0);
    expect(readdirSync(queue)).toEqual([expect.stringMatching(/^\d+-[\da-f-]+\.json$/)]);

    const second = startNode(["examples/own-queue.ts"], env);
    await second.says("out", /process \d+: created message m-2/);
    second.kill("SIGTERM");
    expect(await second.ended, second.err()).toBe(0);
    expect(readdirSync(queue)).toEqual([]);
    expect(second.out()).not.toContain("m-1");
  });

  test.each(Object.keys(SERVERS).filter((name) => name !== "multi-tenant.ts" && name !== "own-queue.ts"))(
    "say what is missing where there is no secret: %s",
    async (name) => {
      const child = startNode([`examples/${name}`], { INBOX: join(folderFor(), "inbox.db") });
      expect(await child.ended).toBe(1);
      expect(child.err()).toContain("secret-missing");
      expect(child.out()).toBe("");
    },
  );

  test("test handlers: testing.ts", async () => {
    const child = startNode(["examples/testing.ts"]);
    expect(await child.ended, child.err()).toBe(0);
    expect(child.out()).toMatch(/^all as expected, after \d+ attempts that failed\n$/);
    expect(child.err()).toBe("");
  });
});

async function deliver(url: string, id: string): Promise<void> {
  const body = JSON.stringify({
    subscription: 1001,
    accountId: 2002,
    resource: "/email/messages",
    payloads: [created(id)],
  });
  expect(await send(url, { body, headers: signedHeaders(body, { secret: SECRET }) })).toMatchObject({ status: 200 });
}
