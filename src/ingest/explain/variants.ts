import type { HeaderLookup } from "../../protocol/headers.ts";
import type { Encoding, ResolvedScheme, TextPart } from "../../protocol/signature-scheme.ts";
import { isSecret } from "../../protocol/secrets.ts";
import type { MistakeCode } from "./catalog.ts";

/** A part of a request as it is, or as it would be if somebody had made these mistakes. */
export interface Variant<T> {
  readonly value: T;
  readonly codes: readonly MistakeCode[];
}

/** The signature header read as leniently as can be: with or without a prefix, in any encoding. */
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

/** The timestamp as it is; of milliseconds also the seconds. */
export function timestampVariants({ timestamp }: ResolvedScheme, header: HeaderLookup): readonly string[] {
  const text = timestamp === undefined ? "" : textOf(header(timestamp.lowerCaseHeader));
  return timestamp?.unit === "seconds" && /^\d{13}$/.test(text) ? [text, text.slice(0, -3)] : [text];
}

/** The secret as it is, without what copying adds, and decoded. */
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

/** What is signed, as the scheme has it and as others do it. */
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

const ENCODINGS: readonly Encoding[] = ["hex", "base64"];

function isEncoded(text: string, encoding: Encoding): boolean {
  if (encoding === "hex") return text.length > 0 && text.length % 2 === 0 && /^[0-9a-f]+$/i.test(text);
  return text.length > 0 && /^[\w+/-]+={0,2}$/.test(text);
}

function textOf(value: ReturnType<HeaderLookup>): string {
  return (typeof value === "object" ? value[0] : value)?.trim() ?? "";
}
