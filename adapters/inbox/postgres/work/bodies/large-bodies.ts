import { type Delivery, type StorageError } from "../../../../../src/adapter.ts";
import type { Queries } from "../../connection/pool.ts";
import { isRefusal, isUnreadable } from "../../connection/classify-error.ts";
import { toDelivery, type DeliveryRow } from "../../delivery-row.ts";
import { KEPT_DAY } from "../../schema/tables.ts";
import type { Row } from "../lanes.ts";
import type { ReadLimit } from "./read-limit.ts";

/** Reads bodies that would stop the heart, one at a time, on another connection. Their jobs wait for it in memory. */
export interface LargeBodies {
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

export interface LargeBodiesDeps {
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

export function createLargeBodies({ queries, ident, limit, soonMs, unread }: LargeBodiesDeps): LargeBodies {
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
