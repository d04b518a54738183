import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { getRequestListener } from "@hono/node-server";
import type { INestApplication } from "@nestjs/common";
import type { FastifyInstance } from "fastify";
import type { Hono } from "hono";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { SAME_ORIGIN } from "../dashboard/support.ts";
import { send, serve } from "../support/http.ts";
import { blocksOf, pageOf, root } from "./pages.ts";

// The programs of the pages, asked over a socket. That they run to their end, and have types, is the matter of programs.test.ts.
const folder = mkdtempSync(join(root, "test/.dashboard-pages-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const DASHBOARD = "docs/operate/dashboard.md";
const BASIC = `Basic ${Buffer.from("ada:a long password").toString("base64")}`;

describe("the dashboard of a page", () => {
  test("is there for everybody, without content", async () => {
    const url = await served(await appOf<RequestListener>(DASHBOARD, "access: () => ({})"));
    expect(await rightsAt(url, {})).toEqual({ content: false, change: false });
  });

  test("is behind basic auth", async () => {
    const url = await served(await appOf<RequestListener>(DASHBOARD, "Basic realm"));
    for (const headers of [{}, { Authorization: BASIC.slice(0, -4) }])
      expect(await send(`${url}/admin/hooks/`, { method: "GET", headers })).toMatchObject({ status: 401 });
    expect(await rightsAt(url, { Authorization: BASIC })).toEqual({ content: true, change: true });
  });

  test("is for sessions of the app", async () => {
    const url = await served(await appOf<RequestListener>(DASHBOARD, "sessions"));
    for (const Cookie of ["", "sid=s3"])
      expect(await send(`${url}/admin/hooks/page/page.css`, { method: "GET", headers: { Cookie } })).toMatchObject({
        status: 403,
      });
    expect(await rightsAt(url, { Cookie: "a=b; sid=s1" })).toEqual({ content: true, change: true });
    expect(await rightsAt(url, { Cookie: "sid=s2" })).toEqual({ content: false, change: false });
  });

  test("is for those whom a proxy names", async () => {
    const url = await served(await appOf<RequestListener>(DASHBOARD, "x-forwarded-email"));
    expect(await send(`${url}/admin/hooks/`, { method: "GET" })).toMatchObject({ status: 403 });
    expect(await rightsAt(url, { "X-Forwarded-Email": "ada@example.com" })).toEqual({ content: false, change: true });
    expect(await rightsAt(url, { "X-Forwarded-Email": "eve@evil.example" })).toEqual({ content: false, change: false });
  });

  test("is in Hono", async () => {
    const app = await appOf<Hono>("docs/mounts/hono.md", "fetchDashboard");
    const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
    const url = await served((request, response) => void answer(request, response));
    expect(await rightsAt(url, {})).toEqual({ content: false, change: false });
    expect(await send(`${url}/admin/hooks`, { method: "GET" })).toMatchObject({ status: 302 });
  });

  test("is in Fastify, which has read the body of a change", async () => {
    const app = await appOf<FastifyInstance>("docs/mounts/fastify.md", "nodeDashboard");
    onTestFinished(() => app.close());
    await app.ready();
    const url = await served(app.routing);
    expect(await rightsAt(url, {})).toEqual({ content: false, change: true });
    await changes(url);
  });

  test("is in Nest", async () => {
    const app = await appOf<INestApplication>("docs/mounts/nest.md", "RECEIVER");
    onTestFinished(() => app.close());
    await app.listen(0, "127.0.0.1");
    const url = await app.getUrl();
    expect(await rightsAt(url, {})).toEqual({ content: false, change: true });
    await changes(url);
  });
});

/** What the only program of a page with this text exports. */
async function appOf<T>(file: string, text: string): Promise<T> {
  const [code, ...others] = blocksOf(pageOf(file), "ts").filter(
    (block) => block.includes(text) && /^export default/m.test(block),
  );
  expect({ file, text, others }).toEqual({ file, text, others: [] });
  const place = join(mkdtempSync(join(folder, "page-")), "program.ts");
  writeFileSync(place, code ?? "");
  return ((await import(/* @vite-ignore */ pathToFileURL(place).href)) as { readonly default: T }).default;
}

async function served(app: RequestListener): Promise<string> {
  return (await serve(app)).url;
}

async function rightsAt(url: string, headers: Record<string, string>): Promise<unknown> {
  expect(await send(`${url}/admin/hooks/`, { method: "GET", headers })).toMatchObject({ status: 200 });
  const { body } = await send(`${url}/admin/hooks/api/now`, { method: "GET", headers });
  return (JSON.parse(body) as { readonly rights: unknown }).rights;
}

async function changes(url: string): Promise<void> {
  const change = { headers: SAME_ORIGIN, body: '{"filter":{}}' };
  expect(await send(`${url}/admin/hooks/api/replay`, change)).toMatchObject({ status: 200, body: '{"count":0}' });
}
