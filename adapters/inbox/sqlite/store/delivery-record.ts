import type { Delivery, NewDelivery } from "../../../../src/adapter.ts";
import type { DeliveryRow, NewJobs } from "../thread/records.ts";

/** A delivery on its way into the file. Its strings and its body are read from the batch's bytes. */
export interface DeliveryRecord extends Omit<DeliveryRow, "id"> {
  /** Null: it is stored unexpanded. */
  readonly jobs: NewJobs | null;
  /** In the queue that brings it. */
  readonly idInQueue: string | null;
}

// What every delivery brings crosses between the threads as bytes in shared memory: as objects it would cost both of them three times as much.
// Numbers are 64-bit floats, NaN for none; strings and bodies stand behind their length, which is -1 for none.

/** The bytes of one commit, in memory that both threads see. */
export interface BatchWriter {
  /** @param jobs to make; undefined: it is stored unexpanded */
  add(given: Pick<NewDelivery, "delivery" | "idInQueue">, jobs: NewJobs | undefined): void;
  /** Bytes written so far. */
  readonly size: number;
  bytes(): Uint8Array;
}

/** Memory that is used again for the next commit. Larger ones are made for one commit alone. */
const SLAB_BYTES = 1024 * 1024;
/** Bytes of the numbers and lengths of a record, and more. */
const FIXED_BYTES = 128;

/** Memory for one commit after the other: the thread has read it when it answers. */
export function createBatchMemory(): { begin(): BatchWriter; discard(): void } {
  let slab: Buffer | undefined;
  return {
    begin: () => createBatchWriter((slab ??= Buffer.from(new SharedArrayBuffer(SLAB_BYTES)))),
    /** A thread that was given up may still read it. */
    discard() {
      slab = undefined;
    },
  };
}

function createBatchWriter(slab: Buffer): BatchWriter {
  let memory = slab;
  let at = 0;

  function reserve(bytes: number): void {
    if (at + bytes <= memory.byteLength) return;
    const larger = Buffer.from(new SharedArrayBuffer(Math.max(2 * memory.byteLength, at + bytes)));
    larger.set(memory.subarray(0, at));
    memory = larger;
  }

  function number(value: number): void {
    memory.writeDoubleLE(value, at);
    at += 8;
  }

  function text(value: string | null | undefined): void {
    if (value === null || value === undefined) {
      memory.writeInt32LE(-1, at);
      at += 4;
      return;
    }
    const bytes = memory.write(value, at + 4, "utf8");
    memory.writeInt32LE(bytes, at);
    at += 4 + bytes;
  }

  return {
    add({ delivery, idInQueue }, jobs) {
      const { receivedAt, sentAt, source, signedBy, signature, body } = delivery;
      const allHeaders = encodeHeaders(delivery);
      const { lines, states = "", extras } = jobs ?? {};
      const characters =
        (source?.length ?? 0) +
        length(signedBy) +
        length(signature) +
        length(idInQueue) +
        allHeaders.length +
        length(lines) +
        length(extras);
      reserve(FIXED_BYTES + 3 * characters + states.length + body.byteLength);
      number(receivedAt);
      number(sentAt);
      text(source);
      text(signedBy);
      text(signature);
      text(allHeaders);
      text(idInQueue);
      text(lines);
      if (jobs !== undefined) {
        number(jobs.account ?? Number.NaN);
        number(jobs.subscription ?? Number.NaN);
        text(states);
        text(extras);
      }
      memory.writeInt32LE(body.byteLength, at);
      memory.set(body, at + 4);
      at += 4 + body.byteLength;
    },
    get size() {
      return at;
    },
    bytes: () => new Uint8Array(memory.buffer, 0, at),
  };
}

function length(text: string | null | undefined): number {
  return text?.length ?? 0;
}

/** Reads records from an offset on. */
export function* readDeliveries(
  bytes: Uint8Array,
  { offset, count }: { readonly offset: number; readonly count: number },
): Generator<DeliveryRecord> {
  const memory = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = offset;

  const number = (): number => memory.readDoubleLE((at += 8) - 8);
  function text(): string | null {
    const size = memory.readInt32LE(at);
    at += 4;
    if (size < 0) return null;
    return memory.toString("utf8", at, (at += size));
  }

  function jobs(): NewJobs | null {
    const lines = text();
    if (lines === null) return null;
    return { lines, account: orNull(number()), subscription: orNull(number()), states: text() ?? "", extras: text() };
  }

  for (let record = 0; record < count; record += 1) {
    const [receivedAt, sentAt, source] = [number(), number(), text()];
    // Null where a mount of its own gave none: the table refuses it.
    const [signedBy, signature, headers] = [text(), text(), text()] as [string, string, string];
    const idInQueue = text();
    const made = jobs();
    const start = at + 4;
    at = start + memory.readInt32LE(at);
    const body = memory.subarray(start, at);
    yield { receivedAt, sentAt, source, signedBy, signature, headers, idInQueue, jobs: made, body };
  }
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

/** The names that nearly every delivery has, in their order: they need not be stored with each. */
const USUAL = ["x-aurinko-signature", "x-aurinko-request-timestamp", "content-type"] as const;

/** Headers as the file has them: JSON of their object, or of the values of the usual ones alone, without the signature that is stored beside. */
function encodeHeaders({ headers, signature }: Pick<Delivery, "headers" | "signature">): string {
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
