import { unreadable, type Captured } from "./captured.ts";
import { createHeaderLines, type HeaderLines } from "./headers.ts";

/**
 * Reads a request as it went over the wire, or as a tool shows it: lines end with CRLF or LF, the request line may be
 * missing.
 *
 * @param text each character is a byte
 * @throws CommandError for a line that is no header
 */
export function readRawHttp(text: string): Captured {
  const blank = /\r?\n\r?\n/.exec(text);
  const head = blank === null ? text.trimEnd() : text.slice(0, blank.index);
  const lines = head.split(/\r?\n/);
  const requestLine = /^([A-Z]+) (\S+)(?: HTTP\/[\d.]+)?\s*$/.exec(lines[0] ?? "");
  const headers = createHeaderLines();
  for (const [index, line] of lines.entries()) {
    if (index === 0 && requestLine !== null) continue;
    // A name of HTTP/2, such as `:authority`, begins with a colon.
    const header = /^(:?[^\s:]+):(.*)$/.exec(line);
    if (header === null) throw noHeader(line, index + 1);
    headers.add(header[1] ?? "", header[2] ?? "");
  }
  const rest = blank === null ? "" : text.slice(blank.index + blank[0].length);
  const { body, notes } = framed(rest, headers);
  return {
    form: "raw HTTP",
    method: requestLine?.[1],
    url: requestLine?.[2],
    headers: headers.all(),
    body: Buffer.from(body, "latin1"),
    notes,
  };
}

interface Framed {
  readonly body: string;
  readonly notes: readonly string[];
}

/** The body as the headers say it is framed. */
function framed(rest: string, headers: HeaderLines): Framed {
  if (/\bchunked\b/i.test(headers.get("transfer-encoding") ?? "")) {
    // Most tools show the body without its chunks and keep the header.
    return { body: unchunked(rest) ?? rest, notes: [] };
  }
  const length = headers.get("content-length");
  if (length === undefined || !/^\d{1,15}$/.test(length) || Number(length) === rest.length) {
    return { body: rest, notes: [] };
  }
  const [whole, excess] = [rest.slice(0, Number(length)), rest.slice(Number(length))];
  const bytes = `Content-Length says ${length} bytes, here are ${rest.length}`;
  if (excess !== "" && /^[\r\n]+$/.test(excess)) {
    return { body: whole, notes: [`${bytes}: the line end after the body is left out.`] };
  }
  return { body: rest, notes: [`${bytes}: the body was changed or cut, so it is not the one that was signed.`] };
}

/** The body inside of chunks; `undefined` where there are none. */
function unchunked(text: string): string | undefined {
  let body = "";
  for (let at = 0; ;) {
    const size = /^([\da-f]{1,8})[^\r\n]*\r?\n/i.exec(text.slice(at, at + 1_024));
    if (size === null) return undefined;
    const length = Number.parseInt(size[1] ?? "", 16);
    if (length === 0) return body;
    at += size[0].length;
    if (at + length > text.length) return undefined;
    body += text.slice(at, at + length);
    at += length;
    at += /^\r?\n/.exec(text.slice(at, at + 2))?.[0].length ?? 0;
  }
}

function noHeader(line: string, number: number): Error {
  const got = line.length > 40 ? `${line.slice(0, 40)}...` : line;
  return unreadable(
    `Line ${number} is no header: got ${JSON.stringify(got)}, expected "Name: value". A blank line ends the headers.`,
  );
}
