import { UsageError } from "../../errors.ts";
import type { Instant } from "../times.ts";

/** The service in public. */
export const SERVICE_URL = "https://api.aurinko.io";

/** Values of a query: a list is repeated, undefined and null are left out. */
export type Query = Readonly<Record<string, unknown>>;

/** The parameters of a path, by the names that it has in braces. */
export type PathParams = Readonly<Record<string, string | number>>;

/**
 * The base of all paths, without a slash at its end.
 *
 * @throws UsageError `option-invalid`
 */
export function toBaseUrl(where: string, given: string | URL): string {
  const url = URL.canParse(String(given)) ? new URL(given) : undefined;
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "";
  if (isUsable) return url.href.replace(/\/+$/, "");
  throw new UsageError("option-invalid", `${where} got a baseUrl that is no HTTP URL, or has a user or a query.`, {
    fix: "Give it the URL in front of the paths, such as https://api.example.com.",
  });
}

/** The path with its parameters. @throws UsageError `id-invalid` */
export function fillPath(path: string, params: PathParams = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segmentOf(name, params[name]));
}

/** Of a parameter: dots alone would name another path. */
function segmentOf(name: string, value: string | number | undefined): string {
  const text = String(value ?? "");
  if (text !== "" && text !== "." && text !== "..") return encodeURIComponent(text);
  throw new UsageError("id-invalid", `The client got ${JSON.stringify(text)} for ${name}, expected an id.`);
}

/** With its question mark, or empty. */
export function toSearch(query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? (value as readonly unknown[]) : [value])
      if (one !== undefined && one !== null)
        search.append(name, one instanceof Date ? one.toISOString() : (one as Instant).toString());
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}
