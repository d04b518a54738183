import type { Receiver } from "hookline";
import { fetchDashboard, type Access } from "hookline/dashboard";
import { onTestFinished } from "vitest";
import { troubledReceiver, type Trouble } from "./troubled-receiver.ts";

/** What the page itself sends with a change. */
export const SAME_ORIGIN = { "X-Hookline": "1", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json" };

const BASE = "http://localhost/admin/hooks";

/** A receiver in trouble until the test ends. */
export async function troubled(trouble: Trouble = {}): Promise<Receiver> {
  const receiver = await troubledReceiver(trouble);
  onTestFinished(() => void receiver.close({ drainMs: 0 }));
  return receiver;
}

/** Asks a dashboard at `/admin/hooks`, without a socket. */
export function asking(receiver: Receiver, access: () => Access | undefined | Promise<Access | undefined>) {
  const dashboard = fetchDashboard(receiver, { path: "/admin/hooks", access });
  async function get(path: string, method = "GET") {
    const response = await dashboard(new Request(`${BASE}${path}`, { method }));
    return { status: response.status, headers: response.headers, text: await response.text() };
  }
  return {
    get,
    /** The JSON of an answer of 200. */
    async read(name: string): Promise<Json> {
      return JSON.parse((await get(`/api/${name}`)).text);
    },
    async change(verb: string, body: unknown, headers: Record<string, string> = SAME_ORIGIN) {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const response = await dashboard(new Request(`${BASE}/api/${verb}`, { method: "POST", body: text, headers }));
      return { status: response.status, body: (await response.json()) as Json };
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects
type Json = any;

/** Every path of a dashboard, with something to be seen at each. */
export const PATHS = [
  "",
  "/",
  "/lanes",
  "/dead",
  "/job?id=2",
  "/subscriptions",
  "/gaps",
  "/runbook?code=lag",
  "/nothing",
  "/page/page.css",
  "/page/dom.js",
  "/dashboard/page/dashboard.js",
  "/dashboard/page/dashboard.css",
  "/api/now",
  "/api/lanes",
  "/api/dead",
  "/api/dead?type=email.created",
  "/api/dead?type=email.created&after=1",
  "/api/lanes?after=1-1",
  "/api/subscriptions?after=50",
  "/api/job?id=2",
  "/api/job?id=4",
  "/api/job?id=8",
  "/api/subscriptions",
  "/api/gaps",
  "/api/gaps?family=email",
  "/api/runbook?code=lag",
  "/api/job?id=nothing",
  "/api/dead?error=Nothing",
  "/api/dead?type=booking&after=nothing",
];
