// Verifying and signing
export { verify } from "./protocol/signature/verify.ts";
export { sign } from "./protocol/signature/sign.ts";
export { SignatureError } from "./errors.ts";
export type { SignedRequest, Verified, VerifyOptions } from "./protocol/signature/verify.ts";
export type { SignOptions } from "./protocol/signature/sign.ts";
export type { Secret } from "./protocol/signature/secrets.ts";
export type { HeadersLike } from "./protocol/headers.ts";
export type { HeaderProblem, SignatureProblem } from "./protocol/signature/signature-headers.ts";

// Finding out why a signature fails
export { explain } from "./ingest/explain/explain-signature.ts";
export type { Explanation, Mistake } from "./ingest/explain/explain-signature.ts";
export type { MistakeCode } from "./ingest/explain/mistake-catalog.ts";

// Another header or encoding
export type { Encoding, Part, SignatureScheme } from "./protocol/signature/signature-scheme.ts";
