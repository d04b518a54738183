import type { Delivery } from "../../../../src/adapter.ts";

/** The names that nearly every delivery has, in their order: they need not be stored with each. */
const USUAL = ["x-aurinko-signature", "x-aurinko-request-timestamp", "content-type"] as const;

/** Headers as the file has them: JSON of their object, or of the values of the usual ones alone, without the signature that is stored beside. */
export function encodeHeaders({ headers, signature }: Pick<Delivery, "headers" | "signature">): string {
  const names = Object.keys(headers);
  const isUsual = names.length === USUAL.length && USUAL.every((name, index) => names[index] === name);
  if (!isUsual || headers[USUAL[0]] !== signature) return JSON.stringify(headers);
  return JSON.stringify([headers[USUAL[1]], headers[USUAL[2]]]);
}

export function decodeHeaders(stored: string, signature: string): Record<string, string> {
  const headers = JSON.parse(stored) as Record<string, string> | [timestamp: string, type: string];
  if (!Array.isArray(headers)) return headers;
  return { [USUAL[0]]: signature, [USUAL[1]]: headers[0], [USUAL[2]]: headers[1] };
}
