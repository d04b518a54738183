import type { Id } from "./event-types.ts";
import { parseJson } from "./json.ts";

/**
 * An id as a number: a safe integer, or its decimal text. Anything else is `undefined`, never rounded: beyond 2^53 two ids would
 * become one. Negative ids pass, although the service has not sent one yet.
 *
 * @see protocol 2.1, where a subscription's id is numeric text, and 6.2, where it is a number
 */
export function toId(value: unknown): Id | undefined {
  const id = typeof value === "string" && DECIMAL.test(value) ? Number(value) : value;
  // Adding zero makes -0 the same id as 0.
  return typeof id === "number" && Number.isSafeInteger(id) ? id + 0 : undefined;
}

/** As many digits as the largest safe integer has. */
const DECIMAL = /^-?\d{1,16}$/;

/**
 * The account that a delivery names, however little else of it is readable: whose data it is, also of JSON that `parseJson` refuses for
 * its encoding or its depth. `undefined` where it names none, or is not JSON.
 */
export function accountOf(body: Uint8Array): Id | undefined {
  const { parsed, json } = parseJson(body);
  return accountIn(parsed ? json : parseLeniently(body));
}

function parseLeniently(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}

/** The same, of a body that is parsed. */
export function accountIn(json: unknown): Id | undefined {
  return toId((json as { readonly accountId?: unknown } | null | undefined)?.accountId);
}
