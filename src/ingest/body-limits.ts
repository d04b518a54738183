import type { Timer } from "../clock.ts";
import { BodyError, isHooklineError } from "../errors.ts";
import { ordinaryBytes } from "../inbox/ordinary-bytes.ts";
import { catchRejection } from "../thrown.ts";
import { isRefusalCode, REFUSALS, Refused } from "./refusals.ts";
import type { Checked, IngestDeps, RawRequest, Read, ReadLimits } from "./types.ts";

export const DEFAULT_MAX_BODY_BYTES = 1024 * 1024;
/** Of all requests together. */
export const DEFAULT_MAX_IN_FLIGHT_BYTES = 64 * 1024 * 1024;
/** From the headers to the end of the body, milliseconds. */
export const DEFAULT_BODY_TIMEOUT_MS = 10_000;

/** Rows 5 to 7 of the table of answers: the body as bytes, within its limits. Those that are read are in flight until `release`. */
export async function readBody(checked: Checked, deps: IngestDeps): Promise<Read | Refused> {
  const { clock, maxBodyBytes } = deps;
  const held = holdBytes(deps.inFlightBytes);
  try {
    const { body: given } = checked.request; // may be a getter that throws
    const body = given instanceof Uint8Array ? given : toBytes(await readInTime(given, held, deps));
    if (body.byteLength > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
    held.become(body.byteLength); // a reader may count more, or nothing
    // The caller's bytes may be written over after the answer, and a memory inbox keeps what it stores.
    const own = body === given ? new Uint8Array(body) : body;
    return { checked, body: own, receivedAt: clock.now(), release: () => held.become(0) } as Read;
  } catch (error) {
    held.become(0);
    return new Refused(isHooklineError(error) && isRefusalCode(error.code) ? error.code : "internal", error);
  }
}

/** The bodies being read and those that wait to be verified or stored, of all requests together. */
export interface InFlightBytes {
  /** Reserves the bytes that arrived. @throws BodyError `intake-full`, `body-consumed` for what is no number of bytes */
  reserve(bytes: number): void;
  release(bytes: number): void;
  /** There is no room left for a delivery of ordinary size. */
  readonly isFull: boolean;
  readonly size: number;
}

export function createInFlightBytes(maxInFlightBytes: number): InFlightBytes {
  const ordinary = ordinaryBytes(maxInFlightBytes);
  let inFlight = 0;
  return {
    get isFull() {
      return inFlight + ordinary > maxInFlightBytes;
    },
    get size() {
      return inFlight;
    },
    reserve(bytes) {
      // One NaN, and nothing would be over the limit again.
      if (!Number.isFinite(bytes) || bytes < 0) throw bodyConsumed(FIX_OF_BYTES);
      if (inFlight + bytes > maxInFlightBytes)
        throw new BodyError("intake-full", `Bodies in flight hold ${inFlight} of ${maxInFlightBytes} bytes.`, {
          fix: REFUSALS["intake-full"].fix,
        });
      inFlight += bytes;
    },
    release(bytes) {
      inFlight -= bytes;
    },
  };
}

/** What one request has reserved. */
interface HeldBytes {
  /** @throws BodyError as `reserve` does */
  add(bytes: number): void;
  /** Reserves what is missing of so many, or releases the rest. @throws BodyError as `reserve` does */
  become(bytes: number): void;
}

function holdBytes(inFlightBytes: InFlightBytes): HeldBytes {
  let size = 0;
  function add(bytes: number): void {
    inFlightBytes.reserve(bytes);
    size += bytes;
  }
  return {
    add,
    become(bytes) {
      if (bytes > size) return add(bytes - size);
      inFlightBytes.release(size - bytes);
      size = bytes;
    },
  };
}

/** More bytes than the receiver takes: 413. */
export function bodyTooLarge(maxBytes: number): BodyError {
  return new BodyError("body-too-large", `The body is over ${maxBytes} bytes.`, {
    fix: "It is redelivered until it fits: raise `maxBodyBytes`, and the limit of a proxy in front. A queue whose messages hold no more needs another inbox.",
  });
}

/** The client closed the connection, or sent less than it declared: no one reads the answer. */
export function bodyCutOff(cause?: unknown): BodyError {
  return new BodyError("body-cut-off", "The connection ended before the whole body had arrived.", { cause });
}

/**
 * A parser read the stream and left no bytes: 500, because the signature is over the bytes.
 * @param fix what to change in this framework, in one sentence with the code to write
 */
export function bodyConsumed(fix: string): BodyError {
  return new BodyError("body-consumed", "Something read the body before Hookline, and its bytes are gone.", { fix });
}

const FIX_OF_BYTES =
  "Give `receive` the bytes as they arrived: a `Uint8Array`, a stream of them (no `setEncoding`), or a function that resolves to one and passes the length of each chunk to `count`.";

/** A text may have lost bytes that were no UTF-8, and has no length in bytes. @throws BodyError `body-consumed` */
function toBytes(given: unknown): Uint8Array {
  if (given instanceof Uint8Array) return given;
  throw bodyConsumed(FIX_OF_BYTES);
}

type Unread = Exclude<RawRequest["body"], Uint8Array>;

/**
 * Rejects at `bodyTimeoutMs`, even if the reader ignores its signal.
 * `new Promise` by hand, because `Promise.race` costs as much as the rest of a read.
 */
function readInTime(
  unread: Unread,
  held: HeldBytes,
  { clock, maxBodyBytes, bodyTimeoutMs }: IngestDeps,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    let ended = false;
    let timer: Timer | undefined;
    const late = (): void => {
      const error = bodyLate(bodyTimeoutMs);
      controller.abort(error);
      end();
      reject(error);
    };
    // Most bodies arrive with their headers and end before this runs: a timer costs eight times as much as an immediate.
    const startedAt = clock.now();
    const arming = setImmediate(() => {
      const elapsedMs = Math.max(clock.now() - startedAt, 0); // below 0 the wall clock went back
      if (elapsedMs >= bodyTimeoutMs) late();
      else timer = clock.setTimer(late, bodyTimeoutMs - elapsedMs);
    });
    const end = (): void => {
      clearImmediate(arming);
      timer?.clear();
      ended = true;
    };
    const count = (bytes: number): void => {
      if (ended) throw bodyLate(bodyTimeoutMs); // nothing would release what is reserved now
      held.add(bytes);
    };
    const limits = { maxBytes: maxBodyBytes, signal: controller.signal, count };
    const failed = (error: unknown): void => {
      end();
      reject(error);
    };
    try {
      Promise.resolve(typeof unread === "function" ? unread(limits) : readStream(unread, limits)).then((body) => {
        end();
        resolve(body);
      }, failed);
    } catch (error) {
      failed(error);
    }
  });
}

/** Keeps nothing of a stream that stops: it may hold the connection for ever. So not by `for await`, whose frame keeps the last chunk. */
async function readStream(
  stream: AsyncIterable<Uint8Array> & Partial<Iterable<Uint8Array>>,
  { maxBytes, signal, count }: Required<ReadLimits>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  signal.addEventListener("abort", () => chunks.splice(0));
  const iterator = (stream[Symbol.asyncIterator] ?? stream[Symbol.iterator]).call(stream);
  const take = (given: unknown): void => {
    const chunk = toBytes(given);
    length += chunk.byteLength;
    if (length > maxBytes) throw bodyTooLarge(maxBytes);
    count(chunk.byteLength);
    chunks.push(chunk);
  };
  const hasTaken = async (): Promise<boolean> => {
    const { done, value } = await iterator.next();
    if (done === true) return false;
    try {
      take(value);
    } catch (error) {
      // Its end may fail or never come; the refusal stands.
      catchRejection((async () => iterator.return?.())());
      throw error;
    }
    return true;
  };
  while (await hasTaken());
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length);
}

function bodyLate(bodyTimeoutMs: number): BodyError {
  return new BodyError("body-late", `The body did not arrive within ${bodyTimeoutMs} ms.`);
}
