import type { Delivery, Progress } from "../../../../src/adapter.ts";
import { toDelivery, type DeliveryRow } from "../delivery-row.ts";
import type { Row } from "./lanes.ts";
import type { ReadLimit } from "./bodies/read-limit.ts";
import type { Settling } from "./refused-settles.ts";

/**
 * The statement of a step. Where it is bounded, deliveries come in the order in which they are wanted, and bodies up to so many bytes, the last
 * parameter but one; the first one that is not larger than the last parameter comes at least. What is left out is not read from the disk either:
 * the size of a large value stands beside its place.
 * @param ident the quoted name of the schema
 */
export function stepOf(ident: string, isBounded: boolean): string {
  const work = `${ident}.work($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;
  if (!isBounded) return `select * from ${work}`;
  return /* sql */ `select head, id, received_at, sent_at, source, signed_by, signature, headers, size, case when size <= $13 and (up_to = size or up_to <= $12) then body end as body
    from (select *, sum(size) filter (where size <= $13) over (order by place nulls first rows unbounded preceding) as up_to
      from (select w.*, place, octet_length(w.body)::bigint as size
        from ${work} as w left join unnest($11::bigint[]) with ordinality as o (wanted, place) on wanted = w.id) as given) as found
    order by place nulls first`;
}

export type StepLimit = Pick<ReadLimit, "bytes" | "largest">;

/** No value has more bytes. */
const MOST_BYTES = 2 ** 30;

/** The last parameters of a bounded step. None: of one delivery there is nothing to leave out, unless it is too large. */
export function toBound(deliveries: number, limits: readonly StepLimit[]): readonly number[] {
  const [bytes, largest] = [
    Math.min(...limits.map((one) => one.bytes)),
    Math.min(...limits.map((one) => one.largest), MOST_BYTES),
  ];
  return deliveries > 1 || (deliveries === 1 && largest < MOST_BYTES) ? [bytes, largest] : [];
}

/** One row of `writer`: who, how many commits, first and last id of the last one. */
export type Mark = readonly [writer: number, seq: number, firstId: number, lastId: number];

/** What a worker hears at each step. */
export interface StepReply {
  readonly vector: readonly Mark[];
  /** That are this worker's. */
  readonly shards: readonly number[];
  /** The last removal by hand. */
  readonly removal: number | null;
  /** Whether deliveries wait to be expanded. */
  readonly unexpanded: boolean;
}

type ReadRow = Omit<DeliveryRow, "body"> & {
  /** Null where it was left out. */
  readonly body: Uint8Array | null;
  /** Of the body; undefined where none was to be left out. */
  readonly size?: number;
};

/** The first one has the head. */
export type StepRow = ReadRow & {
  readonly head:
    | { readonly alive: false; readonly forgot: boolean }
    | (StepReply & {
        readonly alive: true;
        /** Of those to be marked. */
        readonly gone: readonly number[];
        readonly left: readonly number[];
        readonly held: readonly number[];
        readonly passed: readonly (readonly [id: number, heir: number])[];
      })
    | null;
};

export interface ReadDeliveries {
  readonly deliveries: ReadonlyMap<number, Delivery>;
  /** Those that are there, and were left out: the bytes of each. */
  readonly unread: ReadonlyMap<number, number>;
}

export function toRead(rows: readonly ReadRow[]): ReadDeliveries {
  const [deliveries, unread] = [new Map<number, Delivery>(), new Map<number, number>()];
  for (const { body, size = 0, ...row } of rows) {
    if (body === null) unread.set(row.id, size);
    else deliveries.set(row.id, toDelivery({ ...row, body }));
  }
  return { deliveries, unread };
}

/** How claims end, as the server's `work` takes it: rows that are done, and the rest as JSON. */
export function toSettle(settles: readonly Settling[], leaves: ReadonlyMap<number, number | undefined>) {
  const leave = [...leaves].flatMap(([shard, heir]) => (heir === undefined ? [shard] : []));
  const pass = [...leaves].filter(([, heir]) => heir !== undefined);
  const done: Row[] = [];
  const others: unknown[] = [];
  const windows: unknown[] = [];
  for (const { left, progress, window } of settles) {
    const lane = left[0]?.lane;
    if (window !== undefined && lane !== undefined)
      windows.push({ s: left[0]?.shard, l: lane, f: window?.since ?? null, u: window?.upTo ?? null });
    for (const row of left) {
      const after = progress.get(row);
      if (after === undefined) done.push(row);
      else others.push(toOther(row, after));
    }
  }
  return {
    done,
    ...(others.length > 0 ? { others } : {}),
    ...(windows.length > 0 ? { windows } : {}),
    ...(leave.length > 0 ? { leave } : {}),
    ...(pass.length > 0 ? { pass } : {}),
  };
}

/** Whole numbers. The driver takes five times as long for an array of them. */
export function toArray(numbers: readonly (number | undefined)[]): string {
  return `{${numbers.map((number) => (Number.isFinite(number) ? Math.floor(number as number) : "NULL")).join(",")}}`;
}

function toOther({ shard: s, id: i }: Row, progress: Progress) {
  const {
    state: w,
    attempts: a,
    deaths: d,
    groupMax: g = null,
    firstAttemptAt: f = null,
    runAt: r,
    delayMs: y,
  } = progress;
  const e = progress.error ?? null;
  return { s, i, w, a, d, g, f, r, y, e, z: progress.settledAt ?? null };
}
