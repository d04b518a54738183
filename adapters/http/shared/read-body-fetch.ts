import { bodyCutOff, bodyTooLarge, type ReadLimits } from "../../../src/adapter.ts";

/** What is used of a web-standard request's body. */
export type FetchBody = Pick<Request, "body" | "bodyUsed" | "arrayBuffer">;

/** Bodies of a declared length up to this are asked for whole: a server that makes its requests lazily then needs no stream. */
const SHORT_BYTES = 64 * 1024;

/**
 * Reads the body of a web-standard request to its end, once, and within the receiver's limits; undefined where somebody else has
 * read it, or is reading it.
 *
 * @param declared its length as the headers say it
 * @throws BodyError `body-too-large` over `limits.maxBytes`, `body-cut-off` when the client goes away, and whatever
 * `limits.count` throws or `limits.signal` was aborted with
 */
export async function readFetch(
  request: FetchBody,
  declared: number | undefined,
  limits: ReadLimits,
): Promise<Uint8Array | undefined> {
  if (request.bodyUsed) return undefined;
  if (declared !== undefined && declared <= SHORT_BYTES) return whole(request, declared, limits);
  return request.body === null || request.body.locked ? undefined : stream(request.body, limits);
}

async function whole(request: FetchBody, length: number, limits: ReadLimits): Promise<Uint8Array | undefined> {
  limits.count?.(length);
  try {
    return new Uint8Array(await request.arrayBuffer());
  } catch (error) {
    // Where somebody else holds the stream, it was not touched.
    if (request.bodyUsed) throw bodyCutOff(error);
    return undefined;
  }
}

async function stream(body: ReadableStream<Uint8Array>, limits: ReadLimits): Promise<Uint8Array> {
  const { maxBytes, signal, count } = limits;
  const reader = body.getReader();
  // Ends a read that waits; the receiver has its answer already.
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
    return joined(chunks, length);
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

/** A stream that has failed refuses to be cancelled; nobody needs to hear that. */
async function cancel(reader: Reader, reason: unknown): Promise<void> {
  await reader.cancel(reason).catch(() => {});
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}
