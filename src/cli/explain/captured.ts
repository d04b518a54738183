import { CommandError } from "../command-error.ts";
import { EXIT } from "../exit-codes.ts";

/** A request that somebody wrote down. */
export interface Captured {
  /** How it was written down. */
  readonly form: "raw HTTP" | "JSON";
  readonly method: string | undefined;
  readonly url: string | undefined;
  /** In any case; several values where it stands there several times. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Uint8Array;
  /** What is odd about it, beside the signature. */
  readonly notes: readonly string[];
}

/** The forms that are understood, for a message. */
export const FORMS =
  'It takes raw HTTP (request line, headers, blank line, body) or JSON ({"headers": {...}, "body": "..."}, or bodyBase64 instead of body).';

/** What cannot be read, and what can. */
export function unreadable(message: string, cause?: unknown): CommandError {
  return new CommandError(EXIT.usage, `${message} ${FORMS}`, { cause });
}
