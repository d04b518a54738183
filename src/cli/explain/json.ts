import { unreadable, type Captured } from "./captured.ts";
import { createHeaderLines } from "./headers.ts";

/**
 * Reads a request written as JSON: `{ method?, url?, headers, body }`, the body as text or as `bodyBase64`. So a stored
 * delivery is read, and what function platforms hand in, with `isBase64Encoded`.
 *
 * @throws CommandError for another shape
 */
export function readJson(bytes: Buffer): Captured {
  const json = parse(bytes);
  if (!isObject(json)) throw unreadable(`It is JSON, but ${kindOf(json)}: expected one object.`);
  const { method, url, headers } = json;
  if (!isObject(headers)) throw unreadable(`Its "headers" are ${kindOf(headers)}: expected an object of texts.`);
  const lines = createHeaderLines();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (one === undefined || one === null) continue;
      if (typeof one !== "string" && typeof one !== "number") {
        throw unreadable(`Its header "${name}" is ${kindOf(one)}: expected a text.`);
      }
      lines.add(name, String(one));
    }
  }
  return {
    form: "JSON",
    method: typeof method === "string" && /^[A-Za-z]+$/.test(method) ? method.toUpperCase() : undefined,
    url: typeof url === "string" ? url : undefined,
    headers: lines.all(),
    ...bodyOf(json),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function bodyOf({ body, bodyBase64, isBase64Encoded }: Fields): Pick<Captured, "body" | "notes"> {
  if (typeof bodyBase64 === "string") return { body: base64("bodyBase64", bodyBase64), notes: [] };
  if (typeof body === "string") {
    return { body: isBase64Encoded === true ? base64("body", body) : Buffer.from(body, "utf8"), notes: [] };
  }
  if (body === undefined || body === null) return { body: Buffer.alloc(0), notes: ["It has no body."] };
  const notes = [
    "Its body is parsed JSON, not the text that was received: it is written again here, which may change it.",
  ];
  return { body: Buffer.from(JSON.stringify(body), "utf8"), notes };
}

function base64(name: string, text: string): Buffer {
  if (/^[\w+/-]*={0,2}\s*$/.test(text)) return Buffer.from(text, "base64");
  throw unreadable(`Its "${name}" is no base64.`);
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw unreadable("It begins like JSON, but is none.", error);
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
