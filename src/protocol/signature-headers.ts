import type { HeaderLookup } from "./headers.ts";
import type { ResolvedScheme } from "./signature-scheme.ts";

/** What the headers of a request say about who sent it, before anything is computed. */
export interface Credentials {
  /** The timestamp header's text as received: this is what is signed. Empty where the scheme has none. */
  readonly timestamp: string;
  /** The same as a time, milliseconds since the epoch. */
  readonly sentAtMs: number | undefined;
  /** The decoded signature, of exactly the digest's length. */
  readonly signature: Buffer;
  /** The signature's one spelling: no prefix, hex in lower case. The same signature always gives the same text. */
  readonly signatureText: string;
}

/** Why a signature or its timestamp does not hold: the codes of `SignatureError`, beside `secret-missing`. */
export type SignatureProblem =
  | `signature-${"missing" | "doubled" | "malformed" | "wrong"}`
  | `timestamp-${"missing" | "doubled" | "malformed" | "stale" | "future"}`;

/** What can be told from the headers alone. */
export type HeaderProblem = Exclude<SignatureProblem, "signature-wrong">;

/** By what a timestamp is judged. */
export interface Freshness {
  /** The present time, milliseconds since the epoch. */
  readonly nowMs: number;
  /** How old a request may be, seconds. */
  readonly maxAgeSeconds: number;
}

/**
 * Seven days, in seconds. A short window would reject a backlog for ever if a redelivery keeps its first timestamp,
 * which is not known. @see protocol 8
 */
export const DEFAULT_MAX_AGE_SECONDS = 604_800;

/** How far a sender's clock may be ahead of ours, seconds. */
const MAX_FUTURE_SECONDS = 300;

/**
 * Reads the signature and the timestamp from the headers, or tells what is wrong with them.
 * It never throws and computes no digest: a hostile sender must be cheap to refuse.
 *
 * @see protocol 5
 */
export function readCredentials(
  scheme: ResolvedScheme,
  header: HeaderLookup,
  freshness: Freshness,
): Credentials | HeaderProblem {
  const signature = readSignature(scheme, header);
  if (typeof signature === "string") return signature;
  const time = readTimestamp(scheme, header);
  if (typeof time === "string") return time;
  const { timestamp, sentAtMs } = time;
  const problem = sentAtMs === undefined ? undefined : ageProblem(sentAtMs, freshness);
  return problem ?? { timestamp, sentAtMs, signature: signature.signature, signatureText: signature.signatureText };
}

/** The signature's half of {@link readCredentials}. */
export function readSignature(
  { signature: { lowerCaseHeader, prefix, encoding, characters } }: ResolvedScheme,
  header: HeaderLookup,
): Pick<Credentials, "signature" | "signatureText"> | HeaderProblem {
  const value = header(lowerCaseHeader);
  const flaw = flawOf(value);
  if (flaw !== undefined) return `signature-${flaw}`;
  const text = textOf(value);
  if (text.length !== prefix.length + characters || !text.startsWith(prefix)) return "signature-malformed";
  const encoded = text.slice(prefix.length);
  const signature = Buffer.from(encoded, encoding);
  // The decoder is lenient: it stops at a character that it does not know, takes a letter beyond ASCII for the one in its
  // low byte, and reads base64 in several spellings. So the decoded bytes must give the same text again.
  const signatureText = signature.toString(encoding);
  const canonical = encoding === "hex" ? encoded.toLowerCase() : encoded;
  return signatureText === canonical ? { signature, signatureText } : "signature-malformed";
}

/** The timestamp's half of {@link readCredentials}, its age not yet judged. */
export function readTimestamp(
  { timestamp: time }: ResolvedScheme,
  header: HeaderLookup,
): Pick<Credentials, "timestamp" | "sentAtMs"> | HeaderProblem {
  if (time === undefined) return { timestamp: "", sentAtMs: undefined };
  const value = header(time.lowerCaseHeader);
  const flaw = flawOf(value);
  if (flaw !== undefined) return `timestamp-${flaw}`;
  const timestamp = textOf(value);
  const seconds = time.unit === "seconds";
  if (!(seconds ? SECONDS : MILLISECONDS).test(timestamp)) return "timestamp-malformed";
  return { timestamp, sentAtMs: Number(timestamp) * (seconds ? 1000 : 1) };
}

/** Whether a request is too old, or from the future. */
export function ageProblem(sentAtMs: number, { nowMs, maxAgeSeconds }: Freshness): HeaderProblem | undefined {
  const ageMs = nowMs - sentAtMs;
  // Written so that a NaN is refused.
  if (!(ageMs <= maxAgeSeconds * 1000)) return "timestamp-stale";
  return ageMs < -MAX_FUTURE_SECONDS * 1000 ? "timestamp-future" : undefined;
}

/** What each problem means and what to change: for `SignatureError`, the log and the documentation. */
export const SIGNATURE_PROBLEMS: Readonly<
  Record<SignatureProblem, { readonly message: string; readonly fix: string }>
> = {
  "signature-missing": {
    message: "The request has no signature header.",
    fix: "If the service sent it, a proxy removed the header; else the request is not the service's.",
  },
  "signature-doubled": {
    message: "The request has more than one signature, expected one.",
    fix: "Find the proxy that adds the header again; one signature among several is never searched for.",
  },
  "signature-malformed": {
    message: "The signature is not a digest in the expected length, encoding and prefix.",
    fix: "The service sends 64 hex digits without a prefix; for anything else describe it with `scheme`.",
  },
  "signature-wrong": {
    message: "The signature was not made from these bytes, this timestamp and any of the configured secrets.",
    fix: "Check the secret, and that the body is the raw bytes as received; `explain` of hookline/signature names the mistake.",
  },
  "timestamp-missing": {
    message: "The request has no timestamp header.",
    fix: "If the service sent it, a proxy removed the header; else the request is not the service's.",
  },
  "timestamp-doubled": {
    message: "The request has more than one timestamp, expected one.",
    fix: "Find the proxy that adds the header again.",
  },
  "timestamp-malformed": {
    message: "The timestamp is not a whole number of the expected unit.",
    fix: "The service sends seconds since the epoch, at most 12 digits; 13 digits are milliseconds, so divide by 1,000 before signing.",
  },
  "timestamp-stale": {
    message: "The timestamp is older than `maxAgeSeconds`.",
    fix: "Set this machine's clock; if it is right, the request is a replay, or a redelivery older than `maxAgeSeconds` allows.",
  },
  "timestamp-future": {
    message: "The timestamp is more than 5 minutes ahead of this machine's clock.",
    fix: "Set this machine's clock, or the sender's.",
  },
};

/** No header that can be right is longer, whatever the scheme: 64 bytes as hex and a prefix. */
const LONGEST_HEADER = 1024;

const SECONDS = /^\d{1,12}$/;
const MILLISECONDS = /^\d{1,15}$/;

function flawOf(value: ReturnType<HeaderLookup>): "missing" | "doubled" | "malformed" | undefined {
  if (typeof value === "object" && value !== null && value.length > 1) return "doubled";
  const text: unknown = textOf(value);
  if (text === "") return "missing";
  if (typeof text !== "string" || text.length > LONGEST_HEADER) return "malformed";
  // Node and fetch join doubled headers with ", "; no part of a signature or a timestamp has a comma.
  return text.includes(",") ? "doubled" : undefined;
}

function textOf(value: ReturnType<HeaderLookup>): string {
  return (typeof value === "object" && value !== null ? value[0] : value) ?? "";
}
