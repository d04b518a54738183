import type { Route } from "./routes.ts";

/** Modules of the pages, without a build: a browser loads each by its name. */
const MODULES = [
  "page",
  "accounts-panel",
  "api",
  "attempt-row",
  "clock-panel",
  "dom",
  "format",
  "journal-panel",
  "journal-rows",
  "live",
  "message",
  "subscribe-form",
  "subscriptions-panel",
  "docs/docs",
  "docs/api-document",
  "docs/credentials",
  "docs/operation-view",
  "docs/schema",
  "docs/schema-view",
  "docs/try-form",
];

const STYLES = ["page", "panels", "journal", "docs/docs"];

const FILES = [
  { path: "/", file: "index.html", type: "text/html; charset=utf-8" },
  { path: "/docs", file: "docs/index.html", type: "text/html; charset=utf-8" },
  ...STYLES.map((name) => ({ path: `/${name}.css`, file: `${name}.css`, type: "text/css; charset=utf-8" })),
  ...MODULES.map((name) => ({ path: `/${name}.js`, file: `${name}.js`, type: "text/javascript; charset=utf-8" })),
];

/** Nothing is loaded from elsewhere, and no other page may show this one in a frame. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The pages for a person: the emulator, and the reference of its API. @param read gives the text of one of their files */
export function pageRoutes(read: (file: string) => string): readonly Route[] {
  return FILES.map(({ path, file, type }) => ({
    method: "GET",
    path,
    run: (context) =>
      context.body(read(file), 200, {
        "Content-Type": type,
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
      }),
  }));
}
