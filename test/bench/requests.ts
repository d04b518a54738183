import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SECRET, SIGNINGS, type SigningName } from "./signing.ts";

/** One signed request. */
export interface SignedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Number of records, used round-robin: enough that no record is in flight or waiting twice. */
const RECORDS = 50_000;

/** The signed request of one record. */
export function signedRequest(
  signing: SigningName,
  record: number,
  { atMs, secret = SECRET }: { readonly atMs: number; readonly secret?: string },
): SignedRequest {
  const { path, body: bodyOf, headers } = SIGNINGS[signing];
  const body = bodyOf(`m-${String(record).padStart(8, "0")}`);
  return { path, body, headers: { ...COMMON, ...headers(body, String(Math.floor(atMs / 1_000)), secret) } };
}

/** The raw bytes of a request. */
export function toWire({ path, headers, body }: SignedRequest): string {
  const all = { Host: "127.0.0.1", ...headers, "Content-Length": String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** Scripts for wrk in a folder. @returns the script of a signing, with requests that are fresh */
export function createScripts(folder: string): (signing: SigningName) => string {
  const written = new Map<SigningName, Requests>();
  return (signing) => {
    let found = written.get(signing);
    if (found === undefined || Date.now() - found.signedAtMs > SIGNED_FOR_MS)
      written.set(signing, (found = writeRequests(signing, folder)));
    return found.script;
  };
}

/** Requests for wrk, in a file, with the script that sends them. */
interface Requests {
  readonly script: string;
  readonly signedAtMs: number;
}

/** Slack and others refuse requests that are older than five minutes. */
const SIGNED_FOR_MS = 120_000;

/** Writes {@link RECORDS} signed requests, all of one length, one behind the other, and their script. */
function writeRequests(signing: SigningName, folder: string): Requests {
  const signedAtMs = Date.now();
  const wires = Array.from({ length: RECORDS }, (_, record) =>
    toWire(signedRequest(signing, record, { atMs: signedAtMs })),
  );
  const file = join(folder, `${signing}.requests`);
  const script = join(folder, `${signing}.lua`);
  writeFileSync(file, wires.join(""));
  writeFileSync(script, toLua({ file, records: RECORDS, bytes: wires[0]?.length ?? 0 }));
  return { script, signedAtMs };
}

/**
 * A script for wrk with one thread. The requests are read in `init`, which runs once, before the time is taken; they are whole,
 * because `wrk.format` knows no Host while a script loads. Every answer's status is checked.
 */
export function toLua({ file, records, bytes }: Script): string {
  return `local requests, at, client = {}, 0, nil
others = 0

function setup(thread)
  client = thread
end

function init()
  local file = assert(io.open(${JSON.stringify(file)}, "rb"))
  for i = 1, ${records} do requests[i] = assert(file:read(${bytes})) end
  file:close()
  io.stderr:write("ready\\n")
end

function request()
  at = at % ${records} + 1
  return requests[at]
end

function response(status)
  if status ~= 200 then others = others + 1 end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"requests":%d,"seconds":%.6f,"p99Ms":%.3f,"others":%d,"failed":%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(99) / 1e3, client:get("others"),
    errors.connect + errors.read + errors.write + errors.timeout))
end
`;
}

interface Script {
  readonly file: string;
  readonly records: number;
  readonly bytes: number;
}

const COMMON = { "Content-Type": "application/json", "User-Agent": "hookline-bench" };
