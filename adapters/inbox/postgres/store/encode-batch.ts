import { createHash, randomInt } from "node:crypto";
import { noticeOf, type Expansion, type NewDelivery, type NewEvent, type NewJob } from "../../../../src/adapter.ts";
import { BLOCK, SHARDS } from "../schema/tables.ts";

/** What one call of the server's `store` gets. */
export interface EncodedBatch {
  readonly batch: Readonly<Record<string, unknown>>;
  readonly bodies: Uint8Array;
  /** For each natural key, in its order: the place of its delivery, and of its event in it. */
  readonly unique: readonly (readonly [delivery: number, event: number])[];
  /** Places of ids behind the block's begin: of each delivery, or of the first job of each expansion. */
  readonly at: readonly number[];
  /** Jobs that wait for a handler. */
  readonly unhandled: number;
}

/** The jobs of a delivery take ids of one block: one with more waits to be expanded in parts. */
export const MOST_JOBS: number = BLOCK - 100;

export interface Times {
  readonly now: number;
  readonly dedupeAfter: number;
}

/** @param mayExpand whether events may become jobs: this process works */
export function encodeDeliveries(given: readonly NewDelivery[], mayExpand: boolean, times: Times): EncodedBatch {
  const events = createEventEncoder(times);
  const end = given.findIndex((one) => !mayExpand || one.events === undefined || jobsIn(one.events) > MOST_JOBS);
  const expanded = end === -1 ? given.length : end;
  const at: number[] = [];
  let offset = 0;
  const deliveries = given.map(({ delivery, events: made, idInQueue }, o) => {
    const place = events.next();
    at.push(place);
    const lines = o < expanded && made !== undefined ? events.add(made, o) : undefined;
    const { receivedAt: r, sentAt: t, source, signedBy: b, signature: g, headers: h, body } = delivery;
    const { accountId: a = null, subscription: u = null } = made?.[0]?.event ?? {};
    const f = offset;
    offset += body.byteLength;
    return {
      o,
      at: place,
      r,
      t,
      s: source === undefined ? null : toText(source),
      b,
      g,
      h,
      a,
      u,
      j: lines ?? null,
      f,
      n: body.byteLength,
      ...(idInQueue === undefined ? {} : { k: hash(`delivery ${idInQueue}`) }),
    };
  });
  return {
    ...events.encoded({ deliveries, expanded }),
    bodies: Buffer.concat(
      given.map(({ delivery }) => delivery.body),
      offset,
    ),
    at,
  };
}

export function encodeExpansions(given: readonly Expansion[], times: Times): EncodedBatch {
  const events = createEventEncoder(times);
  const at: number[] = [];
  const expansions = given.map(({ id, events: made, cursor: upto }, o) => {
    const first = events.peek();
    at.push(first);
    const lines = events.add(made, o);
    const { accountId: account = null, subscription = null } = made[0]?.event ?? {};
    return {
      o,
      delivery: Number(id),
      at: first,
      // One that was expanded meanwhile stands elsewhere. Without events it moves nothing: not back either.
      cursor: made[0]?.entry ?? upto ?? null,
      upto: upto ?? null,
      jobs: events.peek() === first ? null : lines,
      account,
      subscription,
    };
  });
  return { ...events.encoded({ expansions }), bodies: new Uint8Array(0), at };
}

/** The same, with only such texts and numbers as a table takes. */
export function tidied(batch: EncodedBatch): EncodedBatch {
  const text = JSON.stringify(batch.batch, (_, value: unknown) => {
    if (typeof value === "string") return toText(value);
    if (typeof value === "number") return toWhole(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [toText(key), one]));
  });
  return { ...batch, batch: JSON.parse(text) as EncodedBatch["batch"] };
}

function toWhole(number: number): number {
  if (Number.isNaN(number)) return 0;
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Math.trunc(number)));
}

export function jobsIn(events: readonly NewEvent[]): number {
  return events.reduce((sum, { jobs }) => sum + jobs.length, 0);
}

/** The lane's shard: the same in every process and version. Jobs without a lane are for all workers alike. */
export function shardOf(consumer: string, lane: string | undefined): number {
  if (lane === undefined) return randomInt(SHARDS);
  // FNV-1a
  let sum = 0x811c9dc5;
  for (const text of [consumer, lane])
    for (let place = 0; place < text.length; place += 1) sum = Math.imul(sum ^ text.charCodeAt(place), 0x01000193);
  return (sum >>> 0) % SHARDS;
}

/** PostgreSQL stores no NUL in a text, and its JSON no half of a surrogate pair. Both come in ids of hostile events only. */
export function toText(text: string): string {
  return text.replace(/[\0\p{Surrogate}]/gu, "\uFFFD");
}

function createEventEncoder({ now, dedupeAfter }: Times) {
  const [jobs, unhandled, unique, notices]: [unknown[], unknown[], unknown[], unknown[]] = [[], [], [], []];
  const places: (readonly [number, number])[] = [];
  let next = 1;

  function addJob(
    job: NewJob,
    event: NewEvent,
    { o, key }: { readonly o: number; readonly key: number | undefined },
  ): unknown[] {
    const at = next++;
    const line = [event.entry, event.event.type];
    const [consumer, lane, mergeKey] = [job.consumer, job.lane, job.mergeKey].map((text) => text && toText(text));
    const origin = { at, o, e: event.entry, t: event.event.type, ...(key === undefined ? {} : { i: key }) };
    if (job.state === "waiting")
      jobs.push({ ...origin, s: shardOf(consumer ?? "", lane), c: consumer, l: lane, m: mergeKey });
    if (job.state === "unhandled") unhandled.push({ ...origin, c: consumer });
    return consumer === undefined ? line : [...line, consumer, lane ?? null, mergeKey ?? null];
  }

  return {
    next: () => next++,
    peek: () => next,
    /** @returns the list of the jobs, as it is stored */
    add(events: readonly NewEvent[], o: number): string {
      const lines: unknown[] = [];
      for (const [index, event] of events.entries()) {
        let key: number | undefined;
        if (event.unique !== undefined) {
          key = places.length;
          places.push([o, index]);
          const { key: k, content } = event.unique;
          unique.push({ i: key, o, k: hash(k), w: hash(`${k}\n${content}`), p: lines.length, n: event.jobs.length });
        }
        const notice = noticeOf(event.event);
        if (notice !== undefined)
          notices.push({
            o,
            subscription: notice.subscription,
            account: notice.accountId,
            resource: toText(notice.resource),
            error: notice.error === undefined ? null : toText(notice.error),
          });
        for (const job of event.jobs) lines.push(addJob(job, event, { o, key }));
      }
      return JSON.stringify(lines);
    },
    encoded(what: Readonly<Record<string, unknown>>) {
      const batch = {
        ...what,
        now,
        dedupeAfter,
        size: next - 1,
        jobs,
        ...(unhandled.length > 0 ? { unhandled } : {}),
        ...(unique.length > 0 ? { unique } : {}),
        ...(notices.length > 0 ? { notices } : {}),
      };
      return { batch, unique: places, unhandled: unhandled.length };
    },
  };
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
