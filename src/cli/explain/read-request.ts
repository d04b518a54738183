import { CommandError, EXIT } from "../command.ts";

/** A captured request. */
export interface CapturedRequest {
  readonly form: "raw HTTP" | "JSON";
  readonly method: string | undefined;
  readonly url: string | undefined;
  /** By name in lower case; several values where the name occurs several times. */
  readonly headers: HeaderValues;
  readonly body: Uint8Array;
  /** Oddities that are not about the signature. */
  readonly notes: readonly string[];
}

type HeaderValues = Readonly<Record<string, readonly string[]>>;

/** The accepted forms, for messages. */
export const FORMS =
  'It takes raw HTTP (request line, headers, blank line, body) or JSON ({"headers": {...}, "body": "..."}, or bodyBase64 instead of body).';

/**
 * Finds out the form of a captured request, and parses it.
 *
 * @throws CommandError for anything else; the message lists the accepted forms
 */
export function readRequest(bytes: Buffer): CapturedRequest {
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    throw unreadable("It is UTF-16, as Windows PowerShell writes files: save it as UTF-8.");
  const withoutMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
  // Latin-1 makes each byte one character, so that no byte is lost.
  const text = withoutMark.toString("latin1").trimStart();
  if (text === "") throw unreadable("It is empty.");
  if (/^[{["]/.test(text)) return readJson(withoutMark);
  if (/^(?:\$\s+)?curl(?:\.exe)?\s/.test(text))
    throw unreadable("It is a curl command: send it to a listener such as nc, and give what that captured.");
  if (/^HTTP\/\d/.test(text)) throw unreadable("It is an answer, not a request.");
  if (/^[A-Z]+ (?:\/|https?:\/)|^[\w-]+:(?!\/\/)/.test(text)) return readRawHttp(text);
  throw unreadable("This is not a request in a known form.");
}

/** A request as it went over the wire, or as a tool shows it: with CRLF or LF, with or without its first line. */
function readRawHttp(text: string): CapturedRequest {
  const blank = /\r?\n\r?\n/.exec(text);
  const head = blank === null ? text.trimEnd() : text.slice(0, blank.index);
  const lines = head.split(/\r?\n/);
  const requestLine = /^([A-Z]+) (\S+)(?: HTTP\/[\d.]+)?\s*$/.exec(lines[0] ?? "");
  const headers: (readonly [name: string, value: string])[] = [];
  for (const [index, line] of lines.entries()) {
    if (index === 0 && requestLine !== null) continue;
    // A pseudo-header of HTTP/2, such as `:authority`, begins with a colon.
    if (!/^:?[^\s:]+:.*$/.test(line)) {
      const got = JSON.stringify(line.length > 40 ? `${line.slice(0, 40)}...` : line);
      throw unreadable(
        `Line ${index + 1} is no header: got ${got}, expected "Name: value". A blank line ends the headers.`,
      );
    }
    const end = line.indexOf(":", 1);
    headers.push([line.slice(0, end), line.slice(end + 1)]);
  }
  const grouped = groupHeaders(headers);
  const rest = blank === null ? "" : text.slice(blank.index + blank[0].length);
  const { body, notes } = toBody(rest, grouped);
  return {
    form: "raw HTTP",
    method: requestLine?.[1],
    url: requestLine?.[2],
    headers: grouped,
    body: Buffer.from(body, "latin1"),
    notes,
  };
}

/** The body as the headers delimit it. */
function toBody(rest: string, headers: HeaderValues): { readonly body: string; readonly notes: readonly string[] } {
  if (/\bchunked\b/i.test(headers["transfer-encoding"]?.[0] ?? "")) {
    // Most tools show the body without its chunks and keep the header.
    return { body: unchunked(rest) ?? rest, notes: [] };
  }
  const length = headers["content-length"]?.[0];
  if (length === undefined || !/^\d{1,15}$/.test(length) || Number(length) === rest.length)
    return { body: rest, notes: [] };
  const [whole, excess] = [rest.slice(0, Number(length)), rest.slice(Number(length))];
  const bytes = `Content-Length says ${length} bytes, here are ${rest.length}`;
  return /^[\r\n]+$/.test(excess)
    ? { body: whole, notes: [`${bytes}: the line end after the body is left out.`] }
    : { body: rest, notes: [`${bytes}: the body was changed or cut, so it is not the one that was signed.`] };
}

/** The body inside of chunks; `undefined` where there are none. */
function unchunked(text: string): string | undefined {
  let body = "";
  for (let at = 0; ;) {
    const size = /^[\da-f]{1,8}[^\r\n]*\r?\n/i.exec(text.slice(at, at + 1_024));
    if (size === null) return undefined;
    const length = Number.parseInt(size[0], 16);
    if (length === 0) return body;
    at += size[0].length;
    if (at + length > text.length) return undefined;
    body += text.slice(at, at + length);
    at += length;
    at += /^\r?\n/.exec(text.slice(at, at + 2))?.[0].length ?? 0;
  }
}

/** `{ method?, url?, headers, body }`: also a stored delivery with `bodyBase64`, and a function platform's event with `isBase64Encoded`. */
function readJson(bytes: Buffer): CapturedRequest {
  const json = parseJson(bytes);
  if (!isObject(json)) throw unreadable(`It is JSON, but ${kindOf(json)}: expected one object.`);
  const { method, url, headers } = json;
  if (!isObject(headers)) throw unreadable(`Its "headers" are ${kindOf(headers)}: expected an object of texts.`);
  const pairs = Object.entries(headers)
    .flatMap(([name, value]) => [value].flat().map((one) => [name, one] as const))
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => {
      if (typeof value === "string" || typeof value === "number") return [name, String(value)] as const;
      throw unreadable(`Its header "${name}" is ${kindOf(value)}: expected a text.`);
    });
  return {
    form: "JSON",
    method: typeof method === "string" && /^[A-Za-z]+$/.test(method) ? method.toUpperCase() : undefined,
    url: typeof url === "string" ? url : undefined,
    headers: groupHeaders(pairs),
    ...bodyOf(json),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function bodyOf({ body, bodyBase64, isBase64Encoded }: Fields): Pick<CapturedRequest, "body" | "notes"> {
  if (typeof bodyBase64 === "string") return { body: base64("bodyBase64", bodyBase64), notes: [] };
  if (typeof body === "string")
    return { body: isBase64Encoded === true ? base64("body", body) : Buffer.from(body, "utf8"), notes: [] };
  if (body === undefined || body === null) return { body: Buffer.alloc(0), notes: ["It has no body."] };
  const note =
    "Its body is parsed JSON, not the text that was received: it is written again here, which may change it.";
  return { body: Buffer.from(JSON.stringify(body), "utf8"), notes: [note] };
}

function base64(name: string, text: string): Buffer {
  if (/^[\w+/-]*={0,2}\s*$/.test(text)) return Buffer.from(text, "base64");
  throw unreadable(`Its "${name}" is no base64.`);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw unreadable("It begins like JSON, but is not valid JSON.", error);
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function groupHeaders(pairs: readonly (readonly [name: string, value: string])[]): HeaderValues {
  const groups = Map.groupBy(pairs, ([name]) => name.trim().toLowerCase());
  return Object.fromEntries([...groups].map(([name, all]) => [name, all.map(([, value]) => value.trim())]));
}

function unreadable(message: string, cause?: unknown): CommandError {
  return new CommandError(EXIT.usage, `${message} ${FORMS}`, { cause });
}
