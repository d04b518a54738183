import { SECRET_FIX } from "../../protocol/signature/secrets.ts";
import { SIGNATURE_PROBLEMS, type HeaderProblem } from "../../protocol/signature/signature-headers.ts";

/** A mistake that `explain` can find: a problem of the headers, or a cause of `signature-wrong`. */
export type MistakeCode =
  | HeaderProblem
  | "signature-prefix"
  | "signature-encoding"
  | "timestamp-milliseconds"
  | "body-expected-empty"
  | "body-whitespace"
  | "body-reserialised"
  | "secret-missing"
  | "secret-whitespace"
  | "secret-quoted"
  | "secret-decoded"
  | "secret-wrong"
  | "signed-body-only"
  | "signed-without-version";

const { "signature-wrong": _, ...problems } = SIGNATURE_PROBLEMS;

/** Every mistake and what to change. No text depends on the request, so none can leak it. */
export const MISTAKES: Readonly<Record<MistakeCode, { readonly message: string; readonly fix: string }>> = {
  ...problems,
  "signature-prefix": {
    message:
      "The digest is right, but the text before it is not the scheme's prefix, such as `sha256=` where nothing is expected.",
    fix: "The service sends no prefix: leave it out where you sign, or name it in `scheme`.",
  },
  "signature-encoding": {
    message: "The digest is right, but written in the other encoding: base64 instead of hex, or hex instead of base64.",
    fix: 'The service sends hex: sign with digest("hex"), or name the encoding in `scheme`.',
  },
  "timestamp-milliseconds": {
    message: "The timestamp has 13 digits, so it is in milliseconds; seconds are expected.",
    fix: "Sign and send Math.floor(Date.now() / 1000).",
  },
  "body-expected-empty": {
    message: "The signature was made for an empty body, but the body is not empty.",
    fix: "This is a verification handshake whose body a parser invented, such as {}: pass the raw bytes.",
  },
  "body-whitespace": {
    message: "The signature was made for the same body with other white space at its ends or line ends.",
    fix: "Keep the body byte for byte: no trim, no newline from an editor or a shell, no change of line ends.",
  },
  "body-reserialised": {
    message:
      "The signature was made for the same JSON in another form: the body was parsed and serialised again on its way.",
    fix: "Pass the raw bytes as received, not JSON.stringify of the parsed body; a sender must sign the bytes that it sends.",
  },
  "secret-missing": { message: "The signing secret is empty.", fix: SECRET_FIX },
  "secret-whitespace": {
    message: "The signature was made with the secret without the white space around it, or with a newline after it.",
    fix: "Copy the secret again without spaces and newlines; write it to a file with printf, not echo.",
  },
  "secret-quoted": {
    message: "The secret is in quotes, and the signature was made without them.",
    fix: "Remove the quotes: docker --env-file and some dashboards make them part of the value.",
  },
  "secret-decoded": {
    message: "The signature was made with the secret decoded from hex or base64.",
    fix: "The key is the secret's text in UTF-8: do not decode it where you sign.",
  },
  "secret-wrong": {
    message: "No known mistake explains the signature: most likely it was made with another secret.",
    fix: "Compare the secret with the dashboard of the application that owns the subscription; then look for what changes the body on its way.",
  },
  "signed-body-only": {
    message: "The signature was made for the body alone, without the version and the timestamp.",
    fix: "Sign `v0:{timestamp}:{body}`, with the timestamp of the header and the raw body.",
  },
  "signed-without-version": {
    message:
      "The signature was made for the timestamp and the body, without the version `v0:` or with another separator.",
    fix: "Sign `v0:{timestamp}:{body}`, with the timestamp of the header and the raw body.",
  },
};
