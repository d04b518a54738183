/** A JSON value, if the bytes are one. */
export type ParsedJson =
  | { readonly parsed: true; readonly json: unknown }
  | { readonly parsed: false; readonly json?: undefined };

/** Deeper JSON counts as not parsed. The service's payloads have four levels. */
const MAX_JSON_DEPTH = 512;

/**
 * Parses JSON. Never throws: bytes that are not UTF-8, not JSON, or nested deeper than {@link MAX_JSON_DEPTH} are not parsed.
 * A byte order mark is skipped.
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  try {
    const text = utf8.decode(bytes);
    return isTooDeep(text) ? NOT_PARSED : { parsed: true, json: JSON.parse(text) };
  } catch {
    return NOT_PARSED;
  }
}

/**
 * Parses again what {@link parseJson} parsed, with each integer beyond 2^53 as the text of its digits: a number would lose digits,
 * and a bigint cannot be serialised as JSON. Gives the same object where the bytes hold no such integer.
 */
export function parseExactly(bytes: Uint8Array, json: unknown): unknown {
  const text = utf8.decode(bytes);
  return LONG.test(text) ? JSON.parse(text, exactly) : json;
}

/** As many digits as the least unsafe integer has, where a value begins: ids in texts are as long, and must cost nothing. */
const LONG = /(?:^|[[:,])\s*-?\d{16}/;

function exactly(_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  if (typeof value !== "number" || source === undefined || Number.isSafeInteger(value)) return value;
  return /^-?\d+$/.test(source) ? source : value;
}

const NOT_PARSED: ParsedJson = { parsed: false };

// Fatal, because replacement characters would make two ids equal.
const utf8 = new TextDecoder("utf-8", { fatal: true });

// JSON.parse reads any depth, but JSON.stringify and the structured clone overflow the stack at some thousand levels, and a delivery
// that cannot be stored would be redelivered for ever.
function isTooDeep(text: string): boolean {
  if (text.length <= MAX_JSON_DEPTH * 2) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) depth++;
    else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--;
    if (depth > MAX_JSON_DEPTH) return true;
  }
  return false;
}

/** Index of the quote that ends a string: the first one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
