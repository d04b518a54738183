import type { MistakeCode } from "./catalog.ts";
import type { Variant } from "./variants.ts";

/** The body as it is, without one, and in the forms that frameworks, editors and other languages give it. */
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
    // Not JSON, or nested too deep to be written again: there is no other form of it.
    return [];
  }
}

/** `{"a": 1, "b": 2}`, the default of several languages. */
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
