/** What a value is, for the message about a wrong one: never what it holds, which may be a secret or a megabyte. */
export function kindOf(value: unknown): string {
  try {
    return kindOfReadable(value);
  } catch {
    return "an object"; // a revoked Proxy, say
  }
}

function kindOfReadable(value: unknown): string {
  if (value === undefined || value === null || typeof value === "number" || typeof value === "boolean")
    return String(value);
  if (typeof value === "string") return value === "" ? "an empty text" : "a text";
  if (typeof value !== "object") return typeof value === "function" ? "a function" : `a ${typeof value}`;
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (value instanceof Uint8Array) return Buffer.isBuffer(value) ? "a Buffer" : "a Uint8Array";
  if (value instanceof Date) return "a Date";
  if (value instanceof Error) return "an Error";
  return "then" in value && typeof value.then === "function" ? "a promise" : "an object";
}
