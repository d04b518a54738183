import { bodyCutOff, bodyTooLarge, type ReadLimits } from "../../../src/adapter.ts";

/** The used fields of a web-standard request. */
export type FetchBody = Pick<Request, "body" | "bodyUsed" | "arrayBuffer">;

/** Bodies of a declared length up to this are read by `arrayBuffer()`: servers with lazy requests then create no stream. */
const SHORT_BYTES = 64 * 1024;

/**
 * Reads the body of a web-standard request to its end, once, and within the receiver's limits; undefined if other code has read it or
 * is reading it.
 *
 * @param declared the Content-Length header
 * @throws BodyError `body-too-large` over `limits.maxBytes`, `body-cut-off` when the client goes away, and whatever
 * `limits.count` throws or `limits.signal` was aborted with
 */
export async function readBodyFetch(
  request: FetchBody,
  declared: number | undefined,
  limits: ReadLimits,
): Promise<Uint8Array | undefined> {
  if (request.bodyUsed) return undefined;
  if (declared !== undefined && declared <= SHORT_BYTES) return readWhole(request, declared, limits);
  return request.body === null || request.body.locked ? undefined : readStream(request.body, limits);
}

async function readWhole(request: FetchBody, length: number, limits: ReadLimits): Promise<Uint8Array | undefined> {
  limits.count?.(length);
  try {
    return new Uint8Array(await request.arrayBuffer());
  } catch (error) {
    // If `bodyUsed` is still false, other code has locked the stream.
    if (request.bodyUsed) throw bodyCutOff(error);
    return undefined;
  }
}

async function readStream(body: ReadableStream<Uint8Array>, limits: ReadLimits): Promise<Uint8Array> {
  const { maxBytes, signal, count } = limits;
  const reader = body.getReader();
  // Ends a pending read; the receiver has answered already.
  const onAbort = (): void => void cancel(reader, signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for (let part = await next(reader); part !== undefined; part = await next(reader)) {
      length += part.byteLength;
      if (length > maxBytes) throw bodyTooLarge(maxBytes);
      count?.(part.byteLength);
      chunks.push(part);
    }
    const [only] = chunks;
    return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
  } catch (error) {
    void cancel(reader, error);
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function next(reader: Reader): Promise<Uint8Array | undefined> {
  try {
    const { value } = await reader.read();
    return value;
  } catch (error) {
    throw bodyCutOff(error);
  }
}

/** Ignores the rejection of a stream that has already failed. */
async function cancel(reader: Reader, reason: unknown): Promise<void> {
  await reader.cancel(reason).catch(() => {});
}
