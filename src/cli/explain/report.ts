import { styleText } from "node:util";
import type { Explanation } from "../../signature.ts";
import type { Terminal } from "../command.ts";
import { agoText } from "./age.ts";
import type { Captured } from "./captured.ts";

/** Prints what was found, for the developer. */
export function report(captured: Captured, { matches, mistakes }: Explanation, stdout: Terminal): void {
  const print = (line: string): void => void stdout.write(`${line}\n`);
  print(styleText("dim", summaryOf(captured), { stream: stdout }));
  const verdict = matches ? "The signature is right." : "The signature does not hold.";
  print(styleText(matches ? "green" : "red", verdict, { stream: stdout }));
  const time = timeOf(captured);
  if (time !== undefined) print(time);
  for (const { code, message, fix } of mistakes) {
    print("");
    print(`${styleText("bold", code, { stream: stdout })}: ${message}`);
    print(`Fix: ${fix}`);
    if (isOfPaste(code, captured.body)) print(PASTE);
    if (code === "timestamp-stale" && matches) print(OLD);
  }
  const notes = [...captured.notes, ...oddities(captured)];
  if (notes.length > 0) print("");
  for (const note of notes) print(`Note: ${note}`);
}

const PASTE =
  "A paste into a terminal or an editor adds or removes such bytes too: capture into a file, or give JSON with bodyBase64.";
const OLD = "An old capture is always stale: what counts is how old it was when it came.";

function summaryOf({ form, method, url, headers, body }: Captured): string {
  const names = Object.keys(headers).length;
  const target = [method, url === undefined ? undefined : shown(url)].filter((part) => part !== undefined).join(" ");
  const parts = [`${names} header${names === 1 ? "" : "s"}`, `a body of ${body.length} bytes`];
  return `Read as ${form}: ${[...(target === "" ? [] : [target]), ...parts].join(", ")}.`;
}

/** Without what may be a token or a password, and what a terminal would obey. */
function shown(url: string): string {
  const bare = url.replace(/[?#].*$/s, "").replace(/\/\/[^/]*@/, "//");
  return bare.replaceAll(/[^\x21-\x7e]/g, "?");
}

/** As the service has it. @see protocol 5 */
const TIMESTAMP_HEADER = "x-aurinko-request-timestamp";

function timeOf({ headers }: Captured): string | undefined {
  const [text, ...others] = headers[TIMESTAMP_HEADER] ?? [];
  if (text === undefined || others.length > 0 || !/^\d{1,11}$/.test(text)) return undefined;
  const at = new Date(Number(text) * 1_000);
  return `Signed ${agoText(Date.now() - at.getTime())}, at ${at.toISOString().replace(".000Z", "Z")}.`;
}

function isOfPaste(code: string, body: Uint8Array): boolean {
  return code === "body-whitespace" || (code === "body-expected-empty" && /^\s+$/.test(Buffer.from(body).toString()));
}

function oddities({ method, headers }: Captured): readonly string[] {
  const notes: string[] = [];
  if (method !== undefined && method !== "POST") {
    notes.push(`The method is ${method}, but the service sends POST: anything else is answered 405.`);
  }
  const encoding = headers["content-encoding"]?.[0];
  if (encoding !== undefined && encoding !== "identity") {
    notes.push(`The body is compressed (${encoding}), which is answered 415: the service signs and sends it as it is.`);
  }
  return notes;
}
