import { unreadable, type Captured } from "./captured.ts";
import { readJson } from "./json.ts";
import { readRawHttp } from "./raw-http.ts";

/**
 * Finds out how a request is written down, and reads it.
 *
 * @throws CommandError for what is none, with the forms that are understood
 */
export function readCaptured(bytes: Buffer): Captured {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) {
    throw unreadable("It is UTF-16, as Windows PowerShell writes files: save it as UTF-8.");
  }
  const text = withoutMark(bytes);
  // Each byte is a character, so that none is lost on the way.
  const start = text.toString("latin1").trimStart();
  if (start === "") throw unreadable("It is empty.");
  if (/^[{["]/.test(start)) return readJson(text);
  if (/^(?:\$\s+)?curl(?:\.exe)?\s/.test(start))
    throw unreadable("It is a curl command: send it to a listener such as nc, and give what that captured.");
  if (/^HTTP\/\d/.test(start)) throw unreadable("It is an answer, not a request.");
  if (/^[A-Z]+ (?:\/|https?:\/)|^[\w-]+:(?!\/\/)/.test(start)) return readRawHttp(start);
  throw unreadable("It is no request in a form that is known.");
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
