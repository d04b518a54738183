import { type Delivery, type StorageError } from "../../../../src/adapter.ts";
import type { Queries } from "../connection/pool.ts";
import { isRefusal, isUnreadable } from "../connection/to-storage-error.ts";
import { toDelivery, type DeliveryRow } from "../delivery-row.ts";
import { KEPT_DAY } from "../schema/tables.ts";
import type { Row } from "./lanes.ts";

/** How much one step reads: the heart beats on the same connection, and stands still until the bodies are there. */
export interface ReadLimit {
  /** Of bodies. The server gives so much of them; and one at least, until a step gave no answer. */
  readonly bytes: number;
  /** Of one body: a larger one is read beside the heart. */
  readonly largest: number;
  /** Deliveries that a step asks for: what is asked for in vain counts as running until the next one. A run of more jobs might never begin. */
  readonly most: number;
  /** Those of some runs that go into one step, the first ones: at least one. @param wanted deliveries that are to be read for a run */
  first<R>(runs: readonly R[], wanted: (run: R) => number): readonly R[];
  /** A step brought so many deliveries, of which others were left out or not. */
  read(count: number, isCut: boolean): void;
  /** So much of bodies was there soon, in a step or beside it: twice as much may be. */
  readSoon(bytes: number): void;
  /** A step that was to bring some gave no answer in time. @param count deliveries that it asked for */
  failed(count: number): void;
}

/** So much comes within a small part of the shortest lease. */
export const STEP_BYTES: number = 16 * 1024 * 1024;
/** Of what a step asked for that gave no answer, so small a part is tried next: each try stops the heart. */
const PART = 1 / 64;

export function createReadLimit(): ReadLimit {
  let [bytes, most] = [STEP_BYTES, Infinity];

  return {
    get bytes() {
      return bytes;
    },
    get largest() {
      return bytes < STEP_BYTES ? bytes : Infinity;
    },
    get most() {
      return most;
    },
    first(runs, wanted) {
      let sum = 0;
      const end = runs.findIndex((run, place) => {
        sum += wanted(run);
        return place > 0 && sum > most;
      });
      return end === -1 ? runs : runs.slice(0, end);
    },
    read(count, isCut) {
      most = isCut ? Math.max(count, 1) : 2 * most;
    },
    readSoon(brought) {
      bytes = Math.max(bytes, Math.min(2 * brought, STEP_BYTES));
    },
    failed(count) {
      bytes = Math.ceil(bytes * PART);
      most = Math.ceil(count * PART);
    },
  };
}

/** Reads bodies that would stop the heart, one at a time, on another connection. Their jobs wait for it in memory. */
export interface ReadBeside {
  /** Of rows whose bodies a step left out as too large: it need not be asked again. */
  note(row: Row, bytes: number): void;
  /** Whether its body is larger than a step may read. */
  isLarge(row: Row): boolean;
  /** Some wait for it: a run of many large ones might be more than is kept. */
  readonly isWanted: boolean;
  /** Begins with one of them, unless another one is being read, or waits to be taken. */
  want(row: Row): void;
  /** What was read, once. */
  take(delivery: number): Delivery | undefined;
  /** Why the server would not read it, once. */
  refusalOf(delivery: number): StorageError | undefined;
}

/** So long what was read is kept for a job that is not claimed meanwhile, and no runs are merged after one that waits, milliseconds. */
const KEEP_MS = 10_000;
/** After one that could not be read: others go first, milliseconds. */
const AGAIN_MS = 60_000;

export interface ReadBesideDeps {
  readonly queries: Queries;
  readonly ident: () => string;
  readonly limit: Pick<ReadLimit, "largest" | "readSoon">;
  /** What comes within it comes soon. */
  readonly soonMs: number;
  readonly unread: (row: Row, bytes: number, error: StorageError) => void;
}

interface Known {
  readonly bytes: number;
  notBefore: number;
}

interface Result {
  readonly delivery: number;
  readonly at: number;
  readonly found?: Delivery;
  readonly refusal?: StorageError;
}

export function createReadBeside({ queries, ident, limit, soonMs, unread }: ReadBesideDeps): ReadBeside {
  const known = new WeakMap<Row, Known>();
  let last: Result | undefined;
  let isReading = false;
  let wantedAt = -Infinity;

  async function read(row: Row, about: Known): Promise<void> {
    const beganAt = performance.now();
    try {
      const [found] = await queries.query<DeliveryRow>(
        /* sql */ `select id, received_at, sent_at, source, signed_by, signature, headers, body
         from ${ident()}.delivery where day = any ($1::int[]) and id = $2`,
        [[KEPT_DAY, row.day], row.delivery],
      );
      // A step finds out what became of it.
      if (found === undefined) return void known.delete(row);
      last = { delivery: row.delivery, at: performance.now(), found: toDelivery(found) };
      if (last.at - beganAt < soonMs) limit.readSoon(found.body.byteLength);
    } catch (error) {
      about.notBefore = performance.now() + AGAIN_MS;
      if (isRefusal(error) || isUnreadable(error))
        last = { delivery: row.delivery, at: performance.now(), refusal: error as StorageError };
      else unread(row, about.bytes, error as StorageError);
    } finally {
      isReading = false;
    }
  }

  function resultOf<K extends "found" | "refusal">(delivery: number, what: K): Result[K] | undefined {
    const result = last?.delivery === delivery ? last[what] : undefined;
    if (result !== undefined) last = undefined;
    return result;
  }

  return {
    note: (row, bytes) => void (known.has(row) || known.set(row, { bytes, notBefore: 0 })),
    isLarge: (row) => (known.get(row)?.bytes ?? 0) > limit.largest,
    get isWanted() {
      return isReading || performance.now() - wantedAt < KEEP_MS;
    },
    want(row) {
      const [now, about] = [performance.now(), known.get(row)];
      if (about === undefined || now < about.notBefore) return;
      wantedAt = now;
      if (isReading || (last !== undefined && now - last.at < KEEP_MS)) return;
      [isReading, last] = [true, undefined];
      void read(row, about);
    },
    take: (delivery) => resultOf(delivery, "found"),
    refusalOf: (delivery) => resultOf(delivery, "refusal"),
  };
}
