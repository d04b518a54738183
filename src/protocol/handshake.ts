/** The query parameter of the verification request; the answer is its value and nothing else. @see protocol 6.1 */
const VALIDATION_PARAMETER = "validationToken";

/** Longest token that is echoed. The service's have some 70 characters. */
export const MAX_TOKEN_CHARACTERS = 1024;

/**
 * The token of a verification request, form-decoded once, the first one if there are several.
 * The empty text means that the parameter is there without a value, `undefined` that it is not there.
 *
 * @param url the request's target as received: a path with its query, or a whole URL
 * @see protocol 6.1
 */
export function tokenOf(url: string): string | undefined {
  const query = url.indexOf("?");
  // Nearly every request is a delivery, so the parser is asked only where the name stands, or may stand in escapes.
  if (query === -1 || !(url.includes(VALIDATION_PARAMETER, query) || url.includes("%", query))) return undefined;
  const fragment = url.indexOf("#", query);
  const text = url.slice(query + 1, fragment === -1 ? undefined : fragment);
  return new URLSearchParams(text).get(VALIDATION_PARAMETER) ?? undefined;
}

/** True for a token that can be echoed: 1 to {@link MAX_TOKEN_CHARACTERS} characters. */
export function isGoodToken(token: string | undefined): token is string {
  return token !== undefined && token.length > 0 && token.length <= MAX_TOKEN_CHARACTERS;
}
