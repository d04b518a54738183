import type { HeaderLookup } from "./signature-headers.ts";

/** The headers of a request: a record with names in any case, as Node and function platforms give it, or a `Headers`. */
export type HeadersLike = Readonly<Record<string, string | readonly string[] | undefined>> | Headers;

/**
 * Finds headers by name in any kind of headers. A name that stands there in two spellings gives both values,
 * so that it counts as doubled and none of them wins by luck.
 */
export function toHeaderLookup(headers: HeadersLike): HeaderLookup {
  if (isHeaders(headers)) return (name) => headers.get(name) ?? undefined;
  return (lowerCaseName) => {
    const values: string[] = [];
    for (const name of Object.keys(headers)) {
      if (name.length !== lowerCaseName.length || name.toLowerCase() !== lowerCaseName) continue;
      const value = headers[name];
      if (typeof value === "string") values.push(value);
      else if (Array.isArray(value)) values.push(...value);
    }
    return values;
  };
}

function isHeaders(headers: HeadersLike): headers is Headers {
  return typeof headers.get === "function";
}
