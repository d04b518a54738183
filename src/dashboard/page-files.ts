import { readdirSync, readFileSync } from "node:fs";
import { pageHeaders, SHARED_FILES } from "../page/page-headers.ts";

/** Views have addresses of their own, all at the same depth, so that what they load is found by relative URLs. */
const VIEWS = ["", "lanes", "dead", "job", "subscriptions", "gaps", "runbook"];

/** By the path below the dashboard's; files have the folders of the sources, because modules import each other by them. */
let paths: ReadonlyMap<string, string> | undefined;
const texts = new Map<string, string>();

/** A file of the page, or the page itself for each of its views. */
export function pageFile(path: string) {
  const file = filesByPath().get(path);
  if (file === undefined) return undefined;
  const text = texts.get(file) ?? readFileSync(urlOf(file), "utf8");
  texts.set(file, text);
  return { text, headers: pageHeaders(file), isPage: file.endsWith(".html") };
}

/** Whether a path below the dashboard's is one of its own, such as that of a view: another may be of the app. */
export function isOwnPath(path: string): boolean {
  return path === "" || filesByPath().has(path) || path.startsWith("/api/");
}

function filesByPath(): ReadonlyMap<string, string> {
  const own = "dashboard/page/";
  return (paths ??= new Map([
    ...[...readdirSync(urlOf(own)).map((name) => own + name), ...SHARED_FILES.map((name) => `page/${name}`)].map(
      (file) => [`/${file}`, file] as const,
    ),
    ...VIEWS.map((view) => [`/${view}`, `${own}index.html`] as const),
  ]));
}

/** Beside this folder, in the sources and in the package. */
function urlOf(file: string): URL {
  return new URL(`../${file}`, import.meta.url);
}
