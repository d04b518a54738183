import { SignatureError } from "../errors.ts";
import { SECRET_FIX, toKey, type Key } from "./sign.ts";
import { kindOf } from "../assert.ts";

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
  if (!isList(secret)) return [keyOf(secret, { name: "default", where: "The signing secret" })];
  if (secret.length === 0) throw missing("The signing secrets are an empty list.");
  // By its number: `map` would pass over a hole.
  return Array.from(secret, (one, index) =>
    keyOf(one, { name: `secret-${index + 1}`, where: `Item ${index} of the signing secrets` }),
  );
}

/** @param called the name that it has by default, and what it is in a message */
function keyOf(secret: Secret | undefined, { name, where }: { readonly name: string; readonly where: string }): Key {
  if (isNamed(secret)) {
    if (typeof secret.name !== "string")
      throw missing(`${where} has the name ${kindOf(secret.name)}, expected a text.`);
    return toKey(textOf(secret.value, `The value of ${where.toLowerCase()}`), secret.name);
  }
  return toKey(textOf(secret, where), name);
}

function isNamed(secret: unknown): secret is Exclude<Secret, string> {
  return typeof secret === "object" && secret !== null && "value" in secret;
}

function textOf(value: unknown, where: string): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  const got = typeof value === "string" && value !== "" ? "white space" : kindOf(value);
  throw missing(`${where} is ${got}, expected a text.`, FIXES[got]);
}

/** Where the secret is there, in another shape. */
const FIXES: Readonly<Record<string, string>> = {
  "a Buffer": "Give text: `buffer.toString()`, without the newline at the end of a file.",
  "a Uint8Array": "Give text: `new TextDecoder().decode(bytes)`.",
  "a promise": "Await it before, or give a function that looks the secret up.",
};

function isList(secret: SecretRing | undefined): secret is readonly Secret[] {
  return Array.isArray(secret);
}

function missing(message: string, fix: string = SECRET_FIX): SignatureError {
  return new SignatureError("secret-missing", message, { fix });
}
