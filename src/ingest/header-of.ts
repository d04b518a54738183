import { toHeaderLookup } from "../protocol/headers.ts";
import type { RawRequest } from "./types.ts";

/** A header by its lower-case name. Node writes names so: only what is not there like that is looked for in other spellings. */
export function headerOf(
  headers: RawRequest["headers"],
  lowerCaseName: string,
): string | readonly string[] | undefined {
  const value = headers[lowerCaseName];
  if (value !== undefined) return value;
  const found = toHeaderLookup(headers)(lowerCaseName);
  return found === undefined || found.length > 0 ? found : undefined;
}
