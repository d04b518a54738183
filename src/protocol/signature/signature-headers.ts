import type { HeaderLookup } from "../headers.ts";
import type { ResolvedScheme } from "./signature-scheme.ts";
import { ageProblem, type Freshness } from "./timestamp-age.ts";

/** The signature and the timestamp of a request, as its headers have them; not yet verified. */
export interface SignatureHeaders {
  /** The timestamp header's text as received, which is signed. Empty where the scheme has none. */
  readonly timestamp: string;
  /** The timestamp in milliseconds since the epoch. */
  readonly sentAtMs: number | undefined;
  /** The decoded signature, of exactly the digest's length. */
  readonly signature: Buffer;
  /** Without prefix, hex in lower case: the same signature always gives the same text. */
  readonly signatureText: string;
}

/** Why a signature or its timestamp is refused: the codes of `SignatureError`, beside `secret-missing`. */
export type SignatureProblem =
  | `signature-${"missing" | "doubled" | "malformed" | "wrong"}`
  | `timestamp-${"missing" | "doubled" | "malformed" | "stale" | "future"}`;

/** The problems that the headers alone show. */
export type HeaderProblem = Exclude<SignatureProblem, "signature-wrong">;

/**
 * Reads the signature and the timestamp from the headers, or gives the problem with them.
 * Never throws. It computes no digest, so that an unauthenticated client is cheap to refuse.
 *
 * @see protocol 5
 */
export function readSignatureHeaders(
  scheme: ResolvedScheme,
  header: HeaderLookup,
  freshness: Freshness,
): SignatureHeaders | HeaderProblem {
  const signature = readSignature(scheme, header);
  if (typeof signature === "string") return signature;
  const time = readTimestamp(scheme, header);
  if (typeof time === "string") return time;
  const { timestamp, sentAtMs } = time;
  const problem = sentAtMs === undefined ? undefined : ageProblem(sentAtMs, freshness);
  return problem ?? { timestamp, sentAtMs, signature: signature.signature, signatureText: signature.signatureText };
}

/** The signature's half of {@link readSignatureHeaders}. */
export function readSignature(
  { signature: { lowerCaseHeader, prefix, encoding, characters } }: ResolvedScheme,
  header: HeaderLookup,
): Pick<SignatureHeaders, "signature" | "signatureText"> | HeaderProblem {
  const value = header(lowerCaseHeader);
  const flaw = flawOf(value);
  if (flaw !== undefined) return `signature-${flaw}`;
  const text = textOf(value);
  if (text.length !== prefix.length + characters || !text.startsWith(prefix)) return "signature-malformed";
  const encoded = text.slice(prefix.length);
  const signature = Buffer.from(encoded, encoding);
  // The decoder is lenient: it stops at an unknown character, takes a letter beyond ASCII for the one in its low byte, and reads
  // base64 in several spellings. So the decoded bytes must encode to the same text.
  const signatureText = signature.toString(encoding);
  const canonical = encoding === "hex" ? encoded.toLowerCase() : encoded;
  return signatureText === canonical ? { signature, signatureText } : "signature-malformed";
}

/** The timestamp's half of {@link readSignatureHeaders}; its age is not checked. */
export function readTimestamp(
  { timestamp: time }: ResolvedScheme,
  header: HeaderLookup,
): Pick<SignatureHeaders, "timestamp" | "sentAtMs"> | HeaderProblem {
  if (time === undefined) return { timestamp: "", sentAtMs: undefined };
  const value = header(time.lowerCaseHeader);
  const flaw = flawOf(value);
  if (flaw !== undefined) return `timestamp-${flaw}`;
  const timestamp = textOf(value);
  const seconds = time.unit === "seconds";
  if (!(seconds ? SECONDS : MILLISECONDS).test(timestamp)) return "timestamp-malformed";
  return { timestamp, sentAtMs: Number(timestamp) * (seconds ? 1000 : 1) };
}

/** Each problem and what to change: for `SignatureError`, the log and the documentation. */
export const SIGNATURE_PROBLEMS: Readonly<
  Record<SignatureProblem, { readonly message: string; readonly fix: string }>
> = {
  "signature-missing": {
    message: "The request has no signature header.",
    fix: "If the service sent it, a proxy removed the header; else the request is not the service's.",
  },
  "signature-doubled": {
    message: "The request has more than one signature, expected one.",
    fix: "Find the proxy that adds the header again; several signatures are refused even if one of them is right.",
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

/** A valid header is shorter in every scheme: 64 bytes as hex and a prefix. */
const MAX_HEADER_CHARACTERS = 1024;

const SECONDS = /^\d{1,12}$/;
const MILLISECONDS = /^\d{1,15}$/;

function flawOf(value: ReturnType<HeaderLookup>): "missing" | "doubled" | "malformed" | undefined {
  if (typeof value === "object" && value !== null && value.length > 1) return "doubled";
  const text: unknown = textOf(value);
  if (text === "") return "missing";
  if (typeof text !== "string" || text.length > MAX_HEADER_CHARACTERS) return "malformed";
  // Node and fetch join doubled headers with ", "; no part of a signature or a timestamp has a comma.
  return text.includes(",") ? "doubled" : undefined;
}

function textOf(value: ReturnType<HeaderLookup>): string {
  return (typeof value === "object" && value !== null ? value[0] : value) ?? "";
}
