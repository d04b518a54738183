import { createHmac } from "node:crypto";
import { UsageError } from "../../errors.ts";

/** With what, and when, a request is signed. */
export interface Signing {
  /** Its UTF-8 bytes are the key. */
  readonly secret: string;
  readonly at: Date;
}

/**
 * The headers of a request as the service signs it. The sender's own code: it shares nothing with the code that verifies, and both
 * are held by vectors from elsewhere, so that they cannot be wrong in the same way.
 *
 * @throws UsageError `secret-missing` for an empty secret, `time-invalid` for a time before 1970 or no time at all
 * @see protocol 5, where header, algorithm and signed text are "not shown"; the service's public guide has them
 */
export function signRequest(body: Uint8Array, { secret, at }: Signing): Record<string, string> {
  if (typeof secret !== "string" || secret.trim() === "")
    throw new UsageError("secret-missing", "The secret to sign with is empty, expected a text.", {
      fix: "Give the receiver's signing secret.",
    });
  const seconds = Math.floor(at.getTime() / 1000);
  if (!(seconds >= 0))
    throw new UsageError("time-invalid", `The time to sign is ${String(at)}, expected a Date of 1970 or later.`, {
      fix: "Leave `at` out to sign with the present time.",
    });
  const mac = createHmac("sha256", secret).update(`v0:${seconds}:`).update(body);
  return { "X-Aurinko-Request-Timestamp": String(seconds), "X-Aurinko-Signature": mac.digest("hex") };
}
