import { kindOf } from "../../assert.ts";
import { SignatureError, UsageError } from "../../errors.ts";
import { createHmacKey, type HmacKey } from "./hmac.ts";

/** A signing secret, with a name for logs and counters if one is wanted. */
export type Secret = string | { readonly name: string; readonly value: string };

/** A signing secret, ready for use. */
export interface Key {
  /** Shown in logs and counters, so that a rotation can be finished. */
  readonly name: string;
  readonly key: HmacKey;
}

/** What to do about a missing secret. */
export const SECRET_FIX =
  "Copy the signing secret from the application's dashboard and check that its variable is set.";

/**
 * Makes a key of a secret. The key of a text is its UTF-8 bytes: nothing is trimmed or decoded.
 *
 * @throws UsageError `secret-missing` when it is empty, only white space, or no text
 */
export function toKey(value: string | Uint8Array, name: string): Key {
  if (!isSecret(value))
    throw new UsageError(
      "secret-missing",
      `The signing secret "${name}" is ${describe(value)}, expected a text that is not empty.`,
      {
        fix: SECRET_FIX,
      },
    );
  return { name, key: createHmacKey(value) };
}

/** True for what can be a signing secret: a text with more than white space in it, or some bytes. */
export function isSecret(value: unknown): value is string | Uint8Array {
  return typeof value === "string" ? value.trim() !== "" : value instanceof Uint8Array && value.length > 0;
}

/**
 * Makes a key of each secret. A secret without a name is called `default` when it is the only one given, `secret-1`, `secret-2` and
 * so on in a list.
 *
 * @throws SignatureError `secret-missing` when there is none, or one of them is empty: a request is never passed unchecked
 */
export function toKeys(secret: Secret | readonly Secret[] | undefined): readonly Key[] {
  if (!isList(secret)) return [keyOf(secret, { name: "default", where: "The signing secret" })];
  if (secret.length === 0) throw missing("The signing secrets are an empty list.");
  // By its number: `map` would pass over a hole.
  return Array.from(secret, (one, index) =>
    keyOf(one, { name: `secret-${index + 1}`, where: `Signing secret ${index + 1}` }),
  );
}

/** `name` is for a secret without one, `where` is its place, for messages. */
function keyOf(secret: Secret | undefined, { name, where }: { readonly name: string; readonly where: string }): Key {
  if (!isNamed(secret)) return toKey(textOf(secret, where), name);
  if (typeof secret.name !== "string") throw missing(`${where} has the name ${kindOf(secret.name)}, expected a text.`);
  return toKey(textOf(secret.value, `The value of ${where.toLowerCase()} ("${secret.name}")`), secret.name);
}

function isNamed(secret: unknown): secret is Exclude<Secret, string> {
  return typeof secret === "object" && secret !== null && "value" in secret;
}

function isList(secret: Secret | readonly Secret[] | undefined): secret is readonly Secret[] {
  return Array.isArray(secret);
}

function textOf(value: unknown, where: string): string {
  if (typeof value === "string" && isSecret(value)) return value;
  const got = describe(value);
  throw missing(`${where} is ${got}, expected a text that is not empty.`, FIXES[got]);
}

function describe(value: unknown): string {
  return typeof value === "string" && value !== "" ? "white space" : kindOf(value);
}

/** For a secret of another type. */
const FIXES: Readonly<Record<string, string>> = {
  "a Buffer": "Give text: `buffer.toString()`, without the newline at the end of a file.",
  "a Uint8Array": "Give text: `new TextDecoder().decode(bytes)`.",
  "a promise": "Await it before, or give a function that looks the secret up.",
};

function missing(message: string, fix: string = SECRET_FIX): SignatureError {
  return new SignatureError("secret-missing", message, { fix });
}
