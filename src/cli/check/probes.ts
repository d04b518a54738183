import { sign } from "../../signature.ts";
import { handshakeFlaws } from "../answers/handshake-flaws.ts";
import { ask, type Answered, type Asked } from "./ask.ts";

/** What a probe is made from. */
export interface ProbeInput {
  readonly secret: string;
  readonly now: Date;
  /** The account and the subscription that the probes name. */
  readonly account: number;
  readonly subscription: number;
  /** The receiver's limit of a body. */
  readonly maxBodyBytes: number;
}

/** A request whose answer the table of docs/concepts/answers.md gives. */
export interface Probe {
  /** In plain words, unique. */
  readonly name: string;
  /** The table's status first; the others are right as well. */
  readonly expects: readonly number[];
  /** What the app must do with it. */
  readonly kind: "accepted" | "handshake" | "refused";
  /** Over 64 KiB, which not every mount under test accepts. */
  readonly isLong?: boolean;
  readonly method: "POST" | "GET";
  make(input: ProbeInput): ProbeRequest;
  /** What is wrong with an answer whose status is right. */
  flaw?(answer: Answered): string | undefined;
}

type ProbeRequest = Omit<Asked, "method"> & { readonly token?: string };

/** Identifies the probes to whoever sees them. */
const MARK = "hookline-check";
/** A colon and a plus come back only from a receiver that decodes the query. */
const TOKEN = `${MARK}:2026-01-02T03:04:05+00:00 é`;
const JSON_TYPE = "application/json";
const EIGHT_DAYS_MS = 8 * 86_400_000;

/** The table of answers, as requests. */
export const probes: readonly Probe[] = [
  accepted("a delivery", (input) => deliveryBody(input)),
  {
    name: "a verification handshake",
    expects: [200],
    kind: "handshake",
    method: "POST",
    make: (input) => ({ ...signed(input, new Uint8Array(0), "text/plain; charset=utf-8"), token: TOKEN }),
    flaw: ({ status, headers, body }) =>
      handshakeFlaws({ status, contentType: headers["content-type"], body }, TOKEN).join(" ") || undefined,
  },
  refused("a forged delivery", (input) => signed({ ...input, secret: `not ${input.secret}` }, deliveryBody(input))),
  refused("a delivery signed eight days ago", (input) =>
    signed({ ...input, now: new Date(input.now.getTime() - EIGHT_DAYS_MS) }, deliveryBody(input)),
  ),
  refused("a delivery without a signature", (input) => ({
    headers: { "Content-Type": JSON_TYPE },
    body: deliveryBody(input),
  })),
  accepted("a signed body that is not JSON", (input) => encode(`${envelopeOf(input, MARK)}, "payloads": [`)),
  accepted("a signed body of an unknown shape", (input) => encode(`${envelopeOf(input, MARK)}, "somethingNew": [1] }`)),
  {
    ...accepted("a delivery of up to 150 kB", (input) => longBody(input, Math.min(150_000, input.maxBodyBytes))),
    isLong: true,
  },
  {
    ...refused("a delivery over the limit", (input) => signed(input, longBody(input, input.maxBodyBytes + 1))),
    // A proxy says 502 where it still sent while the receiver, which reads no further, closed the connection.
    expects: [413, 502],
    isLong: true,
  },
  {
    name: "a GET",
    // A route for POST alone does not exist for a GET, which the service never sends.
    expects: [405, 404],
    kind: "refused",
    method: "GET",
    make: () => ({ headers: {} }),
  },
  accepted("a delivery sent as text/plain", (input) => deliveryBody(input), "text/plain"),
  accepted("a delivery sent as a form", (input) => deliveryBody(input), "application/x-www-form-urlencoded"),
];

/** A probe and its result. */
export type TriedProbe =
  | { readonly probe: Probe; readonly answer: Answered }
  | { readonly probe: Probe; readonly error: unknown };

/** A server far away, or a busy one, takes its time for a 413; what is sent meanwhile may reset the connection under its answer. */
const EARLY_MS = 1_000;

/** Sends a probe. Never rejects. */
export async function tryProbe(
  probe: Probe,
  url: string,
  { signal, ...input }: ProbeInput & { readonly signal?: AbortSignal | undefined },
): Promise<TriedProbe> {
  const { token, ...asked } = probe.make(input);
  const target = new URL(url);
  if (token !== undefined) target.searchParams.append("validationToken", token);
  try {
    return { probe, answer: await ask(target.href, { method: probe.method, ...asked }, { earlyMs: EARLY_MS, signal }) };
  } catch (error) {
    return { probe, error };
  }
}

function accepted(name: string, body: (input: ProbeInput) => Uint8Array, type = JSON_TYPE): Probe {
  return { name, expects: [200], kind: "accepted", method: "POST", make: (input) => signed(input, body(input), type) };
}

function refused(name: string, make: Probe["make"]): Probe {
  return { name, expects: [401], kind: "refused", method: "POST", make };
}

function signed({ secret, now }: ProbeInput, body: Uint8Array, type = JSON_TYPE): ProbeRequest {
  return { headers: { ...sign(body, { secret, at: now }), "Content-Type": type }, body };
}

/**
 * The deletion of a message that never existed: handlers do least with it. Its spaces and its escape make a body that was parsed
 * and written again differ, so that its signature fails.
 */
function deliveryBody(input: ProbeInput, extra = ""): Uint8Array {
  const entry = `{ "id": "${MARK}", "changeType": "deleted", "attributes": { "threadId": "\\u00e9 日本" }${extra} }`;
  return encode(`${envelopeOf(input, "email/messages")}, "payloads": [${entry}] }`);
}

/** A delivery of about so many bytes. */
function longBody(input: ProbeInput, bytes: number): Uint8Array {
  return deliveryBody(input, `, "filler": "${"x".repeat(bytes - deliveryBody(input, ', "filler": ""').length)}"`);
}

function envelopeOf({ subscription, account }: ProbeInput, resource: string): string {
  return `{ "subscription": ${subscription}, "accountId": ${account}, "resource": "/${resource}"`;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
