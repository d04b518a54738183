/** The query parameter of the verification request; the answer is exactly its value. @see protocol 6.1 */
const VALIDATION_PARAMETER = "validationToken";

/** A longer token is refused. The service's have some 70 characters. */
export const MAX_TOKEN_CHARACTERS = 1024;

/** Of the answer. Never `text/html`: whoever writes the URL chooses the token. @see protocol 6.1 */
export const TOKEN_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  "Content-Type": "text/plain; charset=utf-8",
  "X-Content-Type-Options": "nosniff",
});

/**
 * The token of a verification request, form-decoded once; the first one if there are several. The empty text is a parameter without
 * a value, `undefined` is no parameter.
 *
 * @param url the request's target as received: a path with its query, or a whole URL
 * @see protocol 6.1
 */
export function tokenOf(url: string): string | undefined {
  const query = url.indexOf("?");
  // Nearly every request is a delivery: the query is parsed only if it has the name, or an escape that may hide it.
  if (query === -1 || !(url.includes(VALIDATION_PARAMETER, query) || url.includes("%", query))) return undefined;
  const fragment = url.indexOf("#", query);
  const text = url.slice(query + 1, fragment === -1 ? undefined : fragment);
  return new URLSearchParams(text).get(VALIDATION_PARAMETER) ?? undefined;
}

/** True for a token that can be echoed: 1 to {@link MAX_TOKEN_CHARACTERS} characters. */
export function isGoodToken(token: string | undefined): token is string {
  return token !== undefined && token.length > 0 && token.length <= MAX_TOKEN_CHARACTERS;
}
