import type { Driver } from "./load-driver.ts";

/** How values of columns are read: bigints as numbers, in JSON too. */
export function typesOf({ builtins, getTypeParser }: Driver["types"]) {
  const parsers: ReadonlyMap<number, unknown> = new Map<number, unknown>([
    [builtins.INT8, toNumber],
    [builtins.JSONB, parseJson],
  ]);
  return {
    getTypeParser: (oid: number, format?: "text" | "binary"): unknown => parsers.get(oid) ?? getTypeParser(oid, format),
  };
}

/** One that is too large for a number would not be a bigint any more when it is sent back. */
function toNumber(bigint: string | number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(bigint)));
}

/** Rows come as JSON, too. */
function parseJson(text: string): unknown {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value: unknown) => (typeof value === "number" ? toNumber(value) : value));
}

/** A number beyond all safe integers has at least so many. */
const MANY_DIGITS = /\d{16}/;
