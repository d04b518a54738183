import { isHooklineError } from "../index.ts";
import { SAFE_HEADERS } from "../page/page-headers.ts";
import type { Access } from "./dashboard-options.ts";
import { createChanges, codeOf, type AskedChange } from "./changes.ts";
import { crossSite } from "./cross-site.ts";
import { readChange } from "./read-change.ts";
import { LOOKS } from "./view-data.ts";
import { pageFile } from "./page-files.ts";
import type { DashboardLog, DashboardSource } from "./source.ts";

export interface DashboardDeps {
  readonly source: DashboardSource;
  readonly log: DashboardLog;
  readonly refreshMs: number;
}

/** A request, of whatever kind, and what it may do. */
export interface DashboardRequest {
  readonly method: string;
  /** Below that of the dashboard, such as `/api/now`. */
  readonly path: string;
  readonly search: string;
  readonly header: (name: string) => string | null | undefined;
  readonly body: () => Promise<string>;
  /** Where the page is, for a path without its slash. */
  readonly redirect?: string | undefined;
  readonly access: Access | undefined;
}

export interface DashboardAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** An answer for several pages that look at the same moment: viewers cost no more than one does. Milliseconds. */
const SHARED_MS = 900;
const MOST_SHARED = 100;

/** The dashboard's answer to each request, without a framework. */
export function createDashboard({ source, log, refreshMs }: DashboardDeps) {
  const changes = createChanges(source, log);
  const shared = new Map<string, { readonly at: number; readonly answer: Promise<object> }>();

  async function answer(request: DashboardRequest): Promise<DashboardAnswer> {
    const { method, path, redirect, access } = request;
    const facts = { who: access?.who, method, path, content: access?.content, change: access?.change };
    if (access === undefined) {
      log.warn({ ...facts, code: "dashboard-refused" }, "the dashboard refused a request: `access` gave nothing");
      return toJson(403, { code: "dashboard-refused", message: "You may not look at this dashboard." });
    }
    const file = pageFile(path);
    if (file?.isPage === true) log.info({ ...facts, code: "dashboard-opened" }, "somebody opened the dashboard");
    else log.debug({ ...facts, code: "dashboard-asked" }, "the dashboard was asked");
    if (redirect !== undefined) return { status: 302, headers: { ...SAFE_HEADERS, Location: redirect }, text: "" };
    const name = /^\/api\/([a-z-]+)$/.exec(path)?.[1];
    if (method === "POST" && name !== undefined) return change(name, request, access);
    if (method !== "GET" && method !== "HEAD") return toJson(405, { code: "dashboard-method" }, { Allow: "GET, HEAD" });
    if (file !== undefined) return { status: 200, headers: file.headers, text: file.text };
    if (name !== undefined && Object.hasOwn(LOOKS, name)) return look(name, request.search, access);
    return toJson(404, { code: "dashboard-not-found", message: "There is no such page." });
  }

  async function look(name: string, search: string, { content = false, change: mayChange = false }: Access) {
    const query = Object.fromEntries(new URLSearchParams(search));
    const [found, counts] = await Promise.all([
      inTurn(`${name}${search} ${content}`, () => LOOKS[name]!({ source, query, content })),
      inTurn("counts", countsOf),
    ]);
    const rights = { content, change: mayChange };
    return toJson(200, { ...found, counts, now: new Date(), refreshMs, rights, changes: changes.begun() });
  }

  /** What every view shows beside its own. */
  async function countsOf() {
    const { waiting, dead, blockedLanes, ready, problems } = await source.health();
    return { waiting, dead, blockedLanes, ready, problems: problems.length };
  }

  /** What several ask for is looked up once. */
  function inTurn(key: string, run: () => Promise<object>): Promise<object> {
    const known = shared.get(key);
    if (known !== undefined && performance.now() - known.at < SHARED_MS) return known.answer;
    if (shared.size >= MOST_SHARED) shared.clear();
    const answered = run();
    shared.set(key, { at: performance.now(), answer: answered });
    answered.catch(() => shared.delete(key));
    return answered;
  }

  async function change(verb: string, request: DashboardRequest, access: Access) {
    const refuse = (status: number, code: string, message: string) => {
      log.warn({ who: access.who, verb, code }, "the dashboard refused a change");
      return toJson(status, { code, message });
    };
    if (crossSite(request))
      return refuse(403, "dashboard-cross-site", "The dashboard takes changes from its own page only.");
    if (access.change !== true)
      return refuse(403, "dashboard-read-only", "Your access lets you look, but change nothing.");
    const asked: AskedChange | string = await readChange(request);
    if (typeof asked === "string") return refuse(400, "dashboard-change-invalid", asked);
    const { status, body } = await changes.change(verb, asked, access.who);
    shared.clear();
    return toJson(status, body);
  }

  return async (asked: DashboardRequest): Promise<DashboardAnswer> => {
    try {
      return await answer(asked);
    } catch (error) {
      const code = codeOf(error);
      if (isHooklineError(error) && error.name === "UsageError") {
        log.debug({ err: error, code }, "the dashboard got a request that it cannot read");
        return toJson(400, { code, message: "Nothing can be found by that." });
      }
      log.error({ err: error, code: "dashboard-failed" }, "the dashboard could not look at the inbox");
      return toJson(503, { code, message: "The inbox gives no answer to this. The log has the cause." });
    }
  };
}

function toJson(status: number, body: object, headers: Readonly<Record<string, string>> = {}): DashboardAnswer {
  return {
    status,
    headers: { ...SAFE_HEADERS, "Content-Type": "application/json", ...headers },
    text: JSON.stringify(body),
  };
}
