import { UsageError } from "../../errors.ts";

/** What can go wrong with deliveries, in words. */
export type FaultKind =
  | "duplicate"
  | "reorder"
  | "split"
  | "merge"
  | "replay"
  | "lose-answer"
  | "slow-body"
  | "wrong-signature"
  | "unknown-values"
  | "silence"
  | "entries"
  | "delay"
  | "clock-skew";

/**
 * What goes wrong with a delivery:
 * `duplicate` it is sent twice; `reorder` it changes places with the next one; `split` each entry is a delivery of its own; `merge` it
 * is one with all of the next second; `replay` an old request, as it was, is sent again after it; `lose-answer` the answer is not read;
 * `slow-body` the body takes 10 s; `silence` the body stops in the middle for 30 s, and then the connection is cut;
 * `wrong-signature` it is signed with another secret; `unknown-values` it has fields and a change that nobody knows;
 * `entries` it has so many; `delayMs` it is sent so much later; `clockSkewSeconds` its timestamp is so much off, later if positive.
 */
export type Fault =
  | Exclude<FaultKind, "entries" | "delay" | "clock-skew">
  | { readonly entries: number }
  | { readonly delayMs: number }
  | { readonly clockSkewSeconds: number };

/** Faults without a number. */
export const FAULT_NAMES = [
  "duplicate",
  "reorder",
  "split",
  "merge",
  "replay",
  "lose-answer",
  "slow-body",
  "wrong-signature",
  "unknown-values",
  "silence",
] as const satisfies readonly Extract<Fault, string>[];

/** Faults with a number, and what it may be. */
const NUMBERS = {
  entries: { least: 1, most: 100_000 },
  delayMs: { least: 0, most: 86_400_000 },
  clockSkewSeconds: { least: -31_536_000, most: 31_536_000 },
} as const;

/** The fault in words. */
export function kindOf(fault: Fault): FaultKind {
  if (typeof fault === "string") return fault;
  if ("entries" in fault) return "entries";
  return "delayMs" in fault ? "delay" : "clock-skew";
}

/** @throws UsageError `fault-invalid` */
export function assertFault(given: unknown): asserts given is Fault {
  if ((FAULT_NAMES as readonly unknown[]).includes(given)) return;
  const [entry, ...more] = Object.entries((typeof given === "object" && given) || {}) as [string, unknown][];
  if (entry !== undefined && more.length === 0 && Object.hasOwn(NUMBERS, entry[0])) {
    const { least, most } = NUMBERS[entry[0] as keyof typeof NUMBERS];
    if (Number.isInteger(entry[1]) && (entry[1] as number) >= least && (entry[1] as number) <= most) return;
    throw new UsageError(
      "fault-invalid",
      `The fault ${JSON.stringify(given)} has ${JSON.stringify(entry[1])}, expected a whole number from ${least} to ${most}.`,
    );
  }
  throw new UsageError(
    "fault-invalid",
    `Got ${JSON.stringify(given) ?? String(given)}, which is no fault. Expected one of ${FAULT_NAMES.join(", ")}, or one of ${Object.keys(
      NUMBERS,
    )
      .map((name) => `{ ${name}: <number> }`)
      .join(", ")}.`,
  );
}

/** The entries of a delivery that has so many: its own again and again, each about another record. */
export function repeatEntries(payloads: readonly object[], count: number): object[] {
  return Array.from({ length: count }, (_, index) => {
    const entry = payloads[index % payloads.length] ?? {};
    const round = Math.floor(index / payloads.length);
    if (round === 0 || !("id" in entry)) return entry;
    return { ...entry, id: typeof entry.id === "number" ? entry.id + round : `${String(entry.id)}-${round}` };
  });
}

/** A body of a later version of the service: a last entry with a value, and all with a field, that nobody knows. */
export function withUnknownValues(payloads: readonly object[]): object {
  const entries = payloads.map((entry) => Object.assign({ hint: { folder: "inbox" } }, entry));
  const last = entries.at(-1);
  if (last !== undefined)
    entries.push({ ...last, ...("eventType" in last ? { eventType: "forward" } : { changeType: "archived" }) });
  return { schemaVersion: 2, payloads: entries };
}

const SLOW_PIECES = 10;
const SLOW_PAUSE_MS = 1_000;

/** The body in ten pieces, a second apart. */
export async function* slowly(body: Uint8Array, pause: (ms: number) => Promise<void>): AsyncGenerator<Uint8Array> {
  const size = Math.ceil(body.length / SLOW_PIECES);
  for (let piece = 0; piece < SLOW_PIECES; piece += 1) {
    if (piece > 0) await pause(SLOW_PAUSE_MS);
    yield body.subarray(piece * size, (piece + 1) * size);
  }
}

const SILENCE_MS = 30_000;

/** Half of the body, then nothing. Its error cuts the connection. */
export async function* thenSilence(body: Uint8Array, pause: (ms: number) => Promise<void>): AsyncGenerator<Uint8Array> {
  yield body.subarray(0, Math.ceil(body.length / 2));
  await pause(SILENCE_MS);
  throw new Error(`the connection was cut after ${SILENCE_MS / 1_000} s of silence`);
}
