import type { HeaderLookup } from "../../protocol/headers.ts";
import { isSecret } from "../../protocol/signature/secrets.ts";
import type { Encoding, ResolvedScheme, TextPart } from "../../protocol/signature/signature-scheme.ts";
import type { MistakeCode } from "./mistake-catalog.ts";

/** A part of a request, unchanged or as these mistakes would make it. */
export interface Variant<T> {
  readonly value: T;
  readonly codes: readonly MistakeCode[];
}

/** The digests that the signature header may hold: with or without a prefix, in any encoding. */
export function signatureVariants(scheme: ResolvedScheme, header: HeaderLookup): readonly Variant<Uint8Array>[] {
  const { lowerCaseHeader, prefix, encoding } = scheme.signature;
  const text = textOf(header(lowerCaseHeader));
  const readings: Variant<string>[] = [{ value: text, codes: prefix === "" ? [] : ["signature-prefix"] }];
  const given = /^[\w-]+=(?=.)/.exec(text)?.[0];
  if (prefix !== "" && text.startsWith(prefix)) readings.push({ value: text.slice(prefix.length), codes: [] });
  else if (given !== undefined) readings.push({ value: text.slice(given.length), codes: ["signature-prefix"] });
  return readings.flatMap(({ value, codes }) =>
    ENCODINGS.filter((other) => isEncoded(value, other)).map((other) => ({
      value: Buffer.from(value, other),
      codes: other === encoding ? codes : [...codes, "signature-encoding" as const],
    })),
  );
}

/** The timestamp; of milliseconds the seconds, too. */
export function timestampVariants({ timestamp }: ResolvedScheme, header: HeaderLookup): readonly string[] {
  const text = timestamp === undefined ? "" : textOf(header(timestamp.lowerCaseHeader));
  return timestamp?.unit === "seconds" && /^\d{13}$/.test(text) ? [text, text.slice(0, -3)] : [text];
}

/** The secret, the secret without what copying adds, and the decoded secret. */
export function secretVariants(secret: string): readonly Variant<string | Uint8Array>[] {
  const trimmed = secret.trim();
  const unquoted = /^(["'`])(.*)\1$/s.exec(trimmed)?.[2] ?? trimmed;
  const variants: Variant<string | Uint8Array>[] = [
    { value: secret, codes: [] },
    { value: trimmed, codes: ["secret-whitespace"] },
    { value: `${secret}\n`, codes: ["secret-whitespace"] },
    { value: unquoted, codes: ["secret-quoted"] },
  ];
  for (const encoding of ENCODINGS) {
    if (isEncoded(unquoted, encoding))
      variants.push({ value: Buffer.from(unquoted, encoding), codes: ["secret-decoded"] });
  }
  return variants.filter(({ value, codes }) => codes.length === 0 || (value !== secret && isSecret(value)));
}

/** The scheme, and the signed texts of other schemes. */
export function inputVariants(scheme: ResolvedScheme): readonly Variant<ResolvedScheme>[] {
  const signed = (codes: readonly MistakeCode[], before: readonly TextPart[]) => ({
    value: { ...scheme, before, after: [] },
    codes,
  });
  return [
    { value: scheme, codes: [] },
    signed(["signed-body-only"], []),
    signed(["signed-without-version"], ["timestamp", { text: "." }]),
    signed(["signed-without-version"], ["timestamp", { text: ":" }]),
    signed(["signed-without-version"], ["timestamp"]),
  ];
}

/** The body, the empty body, and the forms that frameworks, editors and other languages give it. */
export function bodyVariants(body: Uint8Array): readonly Variant<Uint8Array>[] {
  const seen = new Set<string>();
  const variants: Variant<Uint8Array>[] = [{ value: body, codes: [] }];
  const add = (text: string, code: MistakeCode) => {
    if (seen.has(text)) return;
    seen.add(text);
    variants.push({ value: Buffer.from(text, "utf8"), codes: [code] });
  };
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  seen.add(text);
  add("", "body-expected-empty");
  for (const form of whitespaceForms(text)) add(form, "body-whitespace");
  for (const form of jsonForms(text)) add(form, "body-reserialised");
  return variants;
}

const ENCODINGS: readonly Encoding[] = ["hex", "base64"];

function isEncoded(text: string, encoding: Encoding): boolean {
  if (encoding === "hex") return text.length % 2 === 0 && /^[0-9a-f]+$/i.test(text);
  return /^[\w+/-]+={0,2}$/.test(text);
}

function textOf(value: ReturnType<HeaderLookup>): string {
  return (typeof value === "object" ? value[0] : value)?.trim() ?? "";
}

function whitespaceForms(text: string): readonly string[] {
  const unix = text.replaceAll("\r\n", "\n");
  return [text.trim(), `${text}\n`, `${text}\r\n`, unix, unix.replaceAll("\n", "\r\n")];
}

function jsonForms(text: string): readonly string[] {
  try {
    const json: unknown = JSON.parse(text);
    const compact = JSON.stringify(json);
    const pretty = [2, 4, "\t"].map((space) => JSON.stringify(json, null, space));
    const forms = [compact, spaced(json), compact.replaceAll("/", String.raw`\/`), ...pretty];
    return forms.flatMap((form) => [form, toAscii(form), `${form}\n`]);
  } catch {
    // Not JSON, or nested too deep for JSON.stringify: it has no other form.
    return [];
  }
}

/** `{"a": 1, "b": 2}`, the default form of several languages. */
function spaced(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(spaced).join(", ")}]`;
  if (typeof json !== "object" || json === null) return JSON.stringify(json);
  return `{${Object.entries(json)
    .map(([key, value]) => `${JSON.stringify(key)}: ${spaced(value)}`)
    .join(", ")}}`;
}

function toAscii(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
