import type { IncomingMessage } from "node:http";
import { Transform } from "node:stream";
import { getRawBody } from "raw-body";
import { bodyCutOff, bodyTooLarge, type ReadLimits } from "../../../src/adapter.ts";

/** Bodies of a declared length up to this are read here; longer ones and those of unknown length by raw-body. */
const SHORT_BYTES = 64 * 1024;

const NOTHING = new Uint8Array(0);

/**
 * Reads a Node request's body to its end, once, and within the receiver's limits. When it rejects, the stream is paused and has none
 * of our listeners left.
 *
 * @throws BodyError `body-too-large` over `limits.maxBytes`, `body-cut-off` when the client goes away, and whatever
 * `limits.count` throws or `limits.signal` was aborted with
 */
export function readBodyNode(req: IncomingMessage, limits: ReadLimits): Promise<Uint8Array> {
  const length = declaredLength(req);
  // A stream of HTTP/2 that was reset before it was read has ended, and is not destroyed.
  if (req.aborted) return Promise.reject(bodyCutOff(req.errored));
  if (length === 0 || req.readableEnded) return Promise.resolve(NOTHING);
  if (length !== undefined && length > limits.maxBytes) return Promise.reject(bodyTooLarge(limits.maxBytes));
  if (req.destroyed) return Promise.reject(bodyCutOff(req.errored));
  return length !== undefined && length <= SHORT_BYTES ? readShort(req, limits) : readLong(req, limits);
}

/** The body's length by its headers: 0 without a body, `undefined` when unknown. */
export function declaredLength(req: Pick<IncomingMessage, "headers" | "httpVersionMajor">): number | undefined {
  const length = req.headers["content-length"];
  if (length !== undefined) return Number(length);
  // HTTP/2 needs no header to frame a body.
  return req.headers["transfer-encoding"] === undefined && !(req.httpVersionMajor >= 2) ? 0 : undefined;
}

/** A promise and three listeners: an async iterable of the same stream costs half the throughput. */
function readShort(req: IncomingMessage, limits: ReadLimits): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let received = 0;
    let signal: AbortSignal | undefined;

    const onData = (chunk: Buffer): void => {
      received += chunk.length;
      try {
        if (received > limits.maxBytes) throw bodyTooLarge(limits.maxBytes);
        limits.count?.(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        refuse(error);
      }
    };
    const onEnd = (): void => {
      release();
      const [only] = chunks;
      resolve(chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, received));
    };
    const onClose = (): void => refuse(bodyCutOff(req.errored));
    const onAbort = (): void => refuse(signal?.reason);

    const release = (): void => {
      clearImmediate(watch);
      signal?.removeEventListener("abort", onAbort);
      req.off("data", onData).off("end", onEnd).off("close", onClose);
    };
    const refuse = (error: unknown): void => {
      release();
      // writeResponseNode decides how much more to read; until then back-pressure stops the sender.
      req.pause();
      reject(error);
    };

    // Most bodies arrive with their headers and end before this runs: a listener on the signal would be their largest cost.
    const watch = setImmediate(() => {
      signal = limits.signal;
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort);
    });
    req.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

/** raw-body over a stream of our own, which can be destroyed without touching the request's socket. */
async function readLong(req: IncomingMessage, limits: ReadLimits): Promise<Uint8Array> {
  const { signal } = limits;
  signal.throwIfAborted();
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        limits.count?.(chunk.length);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  // raw-body has removed its listener by then: an unhandled "error" event would end the process.
  counted.on("error", () => {});
  const onAbort = (): void => void counted.destroy(signal.reason);
  const onClose = (): void => void counted.destroy(bodyCutOff(req.errored));
  signal.addEventListener("abort", onAbort);
  req.on("close", onClose);
  try {
    return await getRawBody(req.pipe(counted), { limit: limits.maxBytes });
  } catch (error) {
    throw isOverLimit(error) ? bodyTooLarge(limits.maxBytes) : error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    req.off("close", onClose).unpipe(counted);
    counted.destroy();
  }
}

function isOverLimit(error: unknown): boolean {
  return error instanceof Error && "type" in error && error.type === "entity.too.large";
}
