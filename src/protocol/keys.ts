import { SignatureError } from "../errors.ts";
import { isSecret, SECRET_FIX, toKey, type Key } from "./signature.ts";

/** One signing secret, or several while it is being changed. */
export type SecretRing = Secret | readonly Secret[];

/** A signing secret, with a name for logs and counters if one is wanted. */
export type Secret = string | { readonly name: string; readonly value: string };

/**
 * Makes the keys of a ring. A secret without a name is called `default` when it stands alone,
 * `secret-1`, `secret-2` and so on in a list.
 *
 * @throws SignatureError `secret-missing` when there is none, or one of them is empty: a request is never passed unchecked
 */
export function toKeys(secret: SecretRing | undefined): readonly Key[] {
  const ring = isList(secret) ? secret : [secret];
  if (ring.length === 0) throw missing("No signing secret is configured: the list is empty.");
  return ring.map((one, index) => {
    const { name, value } =
      typeof one === "object" && one !== null
        ? one
        : { name: isList(secret) ? `secret-${index + 1}` : "default", value: one };
    if (!isSecret(value)) throw missing(`The signing secret "${name}" is missing or empty.`);
    return toKey(value, name);
  });
}

function isList(secret: SecretRing | undefined): secret is readonly Secret[] {
  return Array.isArray(secret);
}

function missing(message: string): SignatureError {
  return new SignatureError("secret-missing", message, { fix: SECRET_FIX });
}
