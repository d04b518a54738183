/** The headers of a request: a record with names in any case, as Node and function platforms give it, or a `Headers`. */
export type HeadersLike = Readonly<Record<string, string | readonly string[] | undefined>> | Headers;

/** Finds a header by its name in lower case. */
export type HeaderLookup = (lowerCaseName: string) => string | readonly string[] | undefined;

/** Looks headers up in any kind of headers. A name in two spellings gives both values, so that it counts as doubled. */
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

/** The same for a record whose names are in lower case, as Node writes them; other spellings are searched only for a missing name. */
export function headerOf(
  headers: Exclude<HeadersLike, Headers>,
  lowerCaseName: string,
): string | readonly string[] | undefined {
  const value = headers[lowerCaseName];
  if (value !== undefined) return value;
  const found = toHeaderLookup(headers)(lowerCaseName);
  return found === undefined || found.length > 0 ? found : undefined;
}

function isHeaders(headers: HeadersLike): headers is Headers {
  return typeof headers.get === "function";
}
