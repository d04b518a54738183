import { UsageError } from "../../errors.ts";
import { DIGEST_BYTES } from "./hmac.ts";

/** How the digest is written in the header. Hex is read in either case and written in lower case. */
export type Encoding = "hex" | "base64";

/** A part of the signed text: the raw body, the timestamp as its header has it, or a literal. */
export type Part = "body" | "timestamp" | { readonly text: string };

/**
 * How a request is signed. Another header or encoding of the same envelope is possible; another service is not, because all of its
 * events would be `unknown`.
 *
 * @see protocol 5
 * @example
 * const githubScheme: SignatureScheme = {
 *   algorithm: "sha256",
 *   signed: ["body"],
 *   signature: { header: "X-Hub-Signature-256", encoding: "hex", prefix: "sha256=" },
 * };
 */
export interface SignatureScheme {
  /** The hash of the HMAC. */
  readonly algorithm: "sha256" | "sha1" | "sha512";
  /** The parts of the signed text in their order, `body` exactly once. */
  readonly signed: readonly Part[];
  /** The header of the signature, and the prefix before it, such as `sha256=`. */
  readonly signature: {
    readonly header: string;
    readonly encoding: Encoding;
    /** @default none */
    readonly prefix?: string | undefined;
  };
  /** The header of the signed time. @default no time: freshness is not checked */
  readonly timestamp?: { readonly header: string; readonly unit: "seconds" | "milliseconds" } | undefined;
}

/** A checked {@link SignatureScheme}, with what every request needs computed in advance. */
export interface ResolvedScheme extends Pick<SignatureScheme, "algorithm"> {
  /** Hashed before the body. */
  readonly before: readonly TextPart[];
  /** Hashed after the body. */
  readonly after: readonly TextPart[];
  readonly signature: SignatureScheme["signature"] & {
    readonly lowerCaseHeader: string;
    /** Empty when there is none. */
    readonly prefix: string;
    /** Length of the digest. */
    readonly bytes: number;
    /** Length of the encoded digest, without the prefix. */
    readonly characters: number;
  };
  readonly timestamp: (NonNullable<SignatureScheme["timestamp"]> & { readonly lowerCaseHeader: string }) | undefined;
}

/** Any part of the signed text but the body. */
export type TextPart = Exclude<Part, "body">;

/**
 * The service's own: HMAC-SHA256 over `v0:{timestamp}:{raw body}`, as hex.
 *
 * @see protocol 5, where header and algorithm are "not shown"; the service's public guide names them.
 */
export const serviceScheme: SignatureScheme = {
  algorithm: "sha256",
  signed: [{ text: "v0:" }, "timestamp", { text: ":" }, "body"],
  signature: { header: "X-Aurinko-Signature", encoding: "hex" },
  timestamp: { header: "X-Aurinko-Request-Timestamp", unit: "seconds" },
};

/**
 * Checks a scheme, once for the same object.
 *
 * @throws UsageError `scheme-invalid`
 */
export function resolveScheme(scheme: SignatureScheme): ResolvedScheme {
  const known = resolved.get(scheme);
  if (known !== undefined) return known;
  assertScheme(scheme);
  const { algorithm, signed, signature, timestamp } = scheme;
  const body = signed.indexOf("body");
  const bytes = DIGEST_BYTES[algorithm];
  const made: ResolvedScheme = {
    algorithm,
    before: signed.slice(0, body).filter(isTextPart),
    after: signed.slice(body + 1).filter(isTextPart),
    signature: {
      // By name, not spread: a scheme may be an object with accessors.
      header: signature.header,
      encoding: signature.encoding,
      lowerCaseHeader: signature.header.toLowerCase(),
      prefix: signature.prefix ?? "",
      bytes,
      characters: signature.encoding === "hex" ? bytes * 2 : Math.ceil(bytes / 3) * 4,
    },
    timestamp: timestamp && {
      header: timestamp.header,
      unit: timestamp.unit,
      lowerCaseHeader: timestamp.header.toLowerCase(),
    },
  };
  resolved.set(scheme, made);
  return made;
}

const resolved = new WeakMap<SignatureScheme, ResolvedScheme>();

/** @see RFC 9110, section 5.6.2: a header's name is a token */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;

// A comma in the prefix would look like two headers joined into one.
const PREFIX = /^[\x21-\x2b\x2d-\x7e][\x20-\x2b\x2d-\x7e]*$/;

function assertScheme({ algorithm, signed, signature, timestamp }: SignatureScheme): void {
  if (!Object.hasOwn(DIGEST_BYTES, algorithm)) refuse("algorithm", algorithm, "sha256, sha1 or sha512");
  const bodies = signed.filter((part) => part === "body").length;
  if (bodies !== 1) refuse("signed", signed, `"body" exactly once`);
  if (!signed.every((part) => part === "body" || isTextPart(part))) {
    refuse("signed", signed, `"body", "timestamp" and { text } only`);
  }
  assertHeader("signature.header", signature.header);
  if (signature.encoding !== "hex" && signature.encoding !== "base64") {
    refuse("signature.encoding", signature.encoding, "hex or base64");
  }
  if (signature.prefix !== undefined && signature.prefix !== "" && !PREFIX.test(signature.prefix)) {
    refuse("signature.prefix", signature.prefix, "printable ASCII without a comma");
  }
  if (timestamp === undefined) {
    if (signed.includes("timestamp")) refuse("timestamp", timestamp, `a header, because "timestamp" is signed`);
    return;
  }
  assertHeader("timestamp.header", timestamp.header);
  if (timestamp.header.toLowerCase() === signature.header.toLowerCase()) {
    refuse("timestamp.header", timestamp.header, "another header than the signature's");
  }
  if (timestamp.unit !== "seconds" && timestamp.unit !== "milliseconds") {
    refuse("timestamp.unit", timestamp.unit, "seconds or milliseconds");
  }
  // Otherwise a client could send an old request with a new time.
  if (!signed.includes("timestamp")) refuse("signed", signed, `"timestamp" in it, because a timestamp header is given`);
}

function assertHeader(field: string, name: unknown): void {
  if (typeof name !== "string" || !HEADER_NAME.test(name)) refuse(field, name, "the name of a header");
}

function refuse(field: string, got: unknown, expected: string): never {
  const message = `The signature scheme's \`${field}\` is ${JSON.stringify(got) ?? "undefined"}, expected ${expected}.`;
  throw new UsageError("scheme-invalid", message, {
    fix: `Correct \`${field}\`, or leave the scheme out for the service's own.`,
  });
}

function isTextPart(part: Part): part is TextPart {
  return part === "timestamp" || (typeof part === "object" && part !== null && typeof part.text === "string");
}
