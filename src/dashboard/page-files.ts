import { readFileSync } from "node:fs";
import { pageHeaders, SHARED_FILES } from "../page/page-headers.ts";

/** Views have addresses of their own, all at the same depth, so that what they load is found by relative URLs. */
const VIEWS = ["", "lanes", "dead", "job", "subscriptions", "gaps", "runbook"];

/** Modules of the page, without a build: a browser loads each by its name. */
const FILES = [
  "dashboard.css",
  "dashboard.js",
  "api.js",
  "confirm.js",
  "dead-view.js",
  "gaps-view.js",
  "job-view.js",
  "lanes-view.js",
  "now-view.js",
  "parts.js",
  "runbook-view.js",
  "subscriptions-view.js",
];

/** By the path below the dashboard's; files have the folders of the sources, because modules import each other by them. */
const PATHS: ReadonlyMap<string, string> = new Map([
  ...VIEWS.map((view) => [`/${view}`, "dashboard/page/index.html"] as const),
  ...FILES.map((file) => [`/dashboard/page/${file}`, `dashboard/page/${file}`] as const),
  ...SHARED_FILES.map((file) => [`/page/${file}`, `page/${file}`] as const),
]);

const texts = new Map<string, string>();

/** A file of the page, or the page itself for each of its views. */
export function pageFile(path: string) {
  const file = PATHS.get(path);
  if (file === undefined) return undefined;
  // Beside this folder, in the sources and in the package.
  const text = texts.get(file) ?? readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
  texts.set(file, text);
  return { text, headers: pageHeaders(file), isPage: file.endsWith(".html") };
}

/** Whether a path below the dashboard's is one of its own, such as that of a view: another may be of the app. */
export function isOwnPath(path: string): boolean {
  return path === "" || PATHS.has(path) || path.startsWith("/api/");
}
