import { pageHeaders, SHARED_FILES } from "../../page/page-headers.ts";
import type { Route } from "./routes.ts";

/** Modules of the pages, without a build: a browser loads each by its name. */
const MODULES = [
  "page",
  "accounts-panel",
  "api",
  "attempt-row",
  "clock-panel",
  "journal-panel",
  "journal-rows",
  "live",
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

const STYLES = ["panels", "journal", "docs/docs"];

const FILES = [
  { path: "/", file: "index.html" },
  { path: "/docs", file: "docs/index.html" },
  ...STYLES.map((name) => ({ path: `/${name}.css`, file: `${name}.css` })),
  ...MODULES.map((name) => ({ path: `/${name}.js`, file: `${name}.js` })),
  // `../../page/` of a module at the root is `/page/` in a browser.
  ...SHARED_FILES.map((file) => ({ path: `/page/${file}`, file: `../../page/${file}` })),
];

/** The pages for a person: the emulator, and the reference of its API. @param read gives the text of one of their files */
export function pageRoutes(read: (file: string) => string): readonly Route[] {
  return FILES.map(({ path, file }) => ({
    method: "GET",
    path,
    run: (context) => context.body(read(file), 200, pageHeaders(file)),
  }));
}
