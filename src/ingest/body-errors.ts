import { BodyError } from "../errors.ts";

/** More bytes than the receiver takes: 413. */
export function bodyTooLarge(maxBytes: number): BodyError {
  return new BodyError("body-too-large", `The body is over ${maxBytes} bytes.`, {
    fix: "It will be redelivered for ever: raise `maxBodyBytes`, and the limit of a proxy in front, if there is one.",
  });
}

/** The client went away, or sent less than it declared: there is nobody to answer. */
export function bodyCutOff(cause?: unknown): BodyError {
  return new BodyError("body-cut-off", "The connection ended before the whole body had arrived.", { cause });
}

/**
 * A parser read the stream and stored no bytes: 500, because the signature is over the bytes.
 * @param fix what to change in this framework, in one sentence with the code to write
 */
export function bodyConsumed(fix: string): BodyError {
  return new BodyError("body-consumed", "Something read the body before Hookline, and its bytes are gone.", { fix });
}
