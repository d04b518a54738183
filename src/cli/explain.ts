import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { styleText } from "node:util";
import { explain, type Explanation } from "../signature.ts";
import { CommandError, defineCommand, EXIT, secretOf, type Io, type Terminal } from "./command.ts";
import { FORMS, readRequest, type CapturedRequest } from "./explain/read-request.ts";
import { nonEmpty } from "./flags.ts";

/** `hookline explain`: why the signature of a captured request is wrong. */
export const explainCommand = defineCommand({
  name: "explain",
  summary: "Tell which known mistake makes the signature of a request fail.",
  help: {
    usage: "SIGNING_SECRET=<secret> hookline explain [<file>]",
    about: `Tell why the signature of a captured request is wrong, and what to change.

  hookline explain captured.txt
  pbpaste | hookline explain

It reads the request from a file, or from stdin where there is none or it is "-". The request has one of two forms:

  raw HTTP  The request line, the headers, a blank line, the body; as an
            inspector shows it, or as "nc -l 3000 > captured.txt" stores it.
  JSON      {"headers":{...},"body":"..."}, with "bodyBase64" instead of "body"
            for exact bytes, and optionally "method" and "url". A delivery as
            Hookline hands it to a queue of yours is such JSON.

It prints which known mistake explains the signature, with the fix: a body that was parsed and written again, white
space at its ends, a secret with spaces, quotes or decoded, base64 for hex, a signature of the body alone, milliseconds,
a clock that is wrong. It prints neither the secret nor a signature.

A paste into a terminal or an editor may add a newline to the body, and a terminal cuts lines of over 4,095 bytes: a
file, or JSON with bodyBase64, preserves each byte.`,
    secretOf: "the application",
    exits: {
      [EXIT.done]: "The signature is right, and neither too old nor from the future.",
      [EXIT.failed]: "A mistake was found: stdout says which.",
      [EXIT.usage]: "Wrong usage, or a request that cannot be read: stderr says why.",
    },
  },
  flags: { file: { ...nonEmpty('the path of a file, or "-" for stdin'), argument: "FILE" } },
  async run({ file }, io) {
    const secret = secretOf(io.env);
    const request = readRequest(await read(file, io));
    const explanation = explain(request, secret);
    report(request, explanation, io.stdout);
    return explanation.mistakes.length === 0 ? EXIT.done : EXIT.failed;
  },
});

async function read(file: string | undefined, { stdin, stderr }: Pick<Io, "stdin" | "stderr">): Promise<Buffer> {
  const isStdin = file === undefined || file === "-";
  if (isStdin && stdin.isTTY === true) stderr.write("Paste the request, then press Ctrl-D on a line of its own.\n");
  try {
    return await (isStdin ? buffer(stdin) : readFile(file));
  } catch (error) {
    const why = whyUnreadable(error as NodeJS.ErrnoException, isStdin ? "stdin" : file);
    throw new CommandError(EXIT.usage, `${why} ${FORMS}`, { cause: error });
  }
}

function whyUnreadable({ code, message }: NodeJS.ErrnoException, name: string): string {
  if (code === "ENOENT") return `There is no file ${name}.`;
  if (code === "EISDIR") return `${name} is a folder.`;
  return code === "EACCES" ? `${name} may not be read by this user.` : `${name} cannot be read: ${message}.`;
}

function report(request: CapturedRequest, { matches, mistakes }: Explanation, stdout: Terminal): void {
  const print = (line: string): void => void stdout.write(`${line}\n`);
  print(styleText("dim", summaryOf(request), { stream: stdout }));
  const result = matches ? "The signature is right." : "The signature is wrong.";
  print(styleText(matches ? "green" : "red", result, { stream: stdout }));
  const time = timeOf(request);
  if (time !== undefined) print(time);
  for (const { code, message, fix } of mistakes) {
    print("");
    print(`${styleText("bold", code, { stream: stdout })}: ${message}`);
    print(`Fix: ${fix}`);
    if (mayBeOfPaste(code, request.body))
      print(
        "A paste into a terminal or an editor adds or removes such bytes too: capture into a file, or give JSON with bodyBase64.",
      );
    if (code === "timestamp-stale" && matches)
      print("An old capture is always stale: what counts is how old it was when it was received.");
  }
  const notes = [...request.notes, ...oddities(request)];
  if (notes.length > 0) print("");
  for (const note of notes) print(`Note: ${note}`);
}

function summaryOf({ form, method, url, headers, body }: CapturedRequest): string {
  const count = Object.keys(headers).length;
  // Without what may be a token or a password, and what a terminal would obey.
  const shownUrl = url
    ?.replace(/[?#].*$/s, "")
    .replace(/\/\/[^/]*@/, "//")
    .replaceAll(/[^\x21-\x7e]/g, "?");
  const target = [method, shownUrl].filter((part) => part !== undefined).join(" ");
  const parts = [target, `${count} header${count === 1 ? "" : "s"}`, `a body of ${body.length} bytes`];
  return `Read as ${form}: ${parts.filter((part) => part !== "").join(", ")}.`;
}

/** As the service has it. @see protocol 5 */
const TIMESTAMP_HEADER = "x-aurinko-request-timestamp";

function timeOf({ headers }: CapturedRequest): string | undefined {
  const [seconds, ...others] = headers[TIMESTAMP_HEADER] ?? [];
  if (seconds === undefined || others.length > 0 || !/^\d{1,11}$/.test(seconds)) return undefined;
  const at = new Date(Number(seconds) * 1_000);
  return `Signed ${agoText(Date.now() - at.getTime())}, at ${at.toISOString().replace(".000Z", "Z")}.`;
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** How long ago, in one unit. */
function agoText(ms: number): string {
  const span = Math.abs(ms);
  const [unit, size] = UNITS.find(([, unitMs]) => span >= unitMs) ?? ["second", 1_000];
  const count = Math.floor(span / size);
  return `${count.toLocaleString("en-US")} ${unit}${count === 1 ? "" : "s"} ${ms < 0 ? "from now" : "ago"}`;
}

function mayBeOfPaste(code: string, body: Uint8Array): boolean {
  return code === "body-whitespace" || (code === "body-expected-empty" && /^\s+$/.test(Buffer.from(body).toString()));
}

function oddities({ method, headers }: CapturedRequest): readonly string[] {
  const notes: string[] = [];
  if (method !== undefined && method !== "POST")
    notes.push(`The method is ${method}, but the service sends POST: anything else is answered 405.`);
  const encoding = headers["content-encoding"]?.[0];
  if (encoding !== undefined && encoding !== "identity")
    notes.push(`The body is compressed (${encoding}), which is answered 415: the service signs and sends it as it is.`);
  return notes;
}
