import { bodyConsumed, toAfterHandlers, workAfterResponse, type RawRequest } from "../../../src/adapter.ts";
import type { Receiver } from "../../../src/index.ts";
import {
  assertReceiver,
  NOT_FOUND,
  toPathTest,
  UNDECIDED,
  withSource,
  type Answer,
  type AnyMountOptions,
} from "./mount.ts";
import { readBodyFetch, type FetchBody } from "./read-body-fetch.ts";

/** One request from a framework or platform over web-standard requests. */
interface Incoming<Req> {
  readonly request: Pick<Request, "method" | "url" | "headers"> & FetchBody;
  /** The argument of the `source` option. */
  readonly original: Req;
  /** Bytes or text that earlier middleware read, the most faithful first; called only when the body was read. */
  readonly earlierReads?: () => Promise<readonly unknown[]>;
  /** `request.platform` of a secret look-up. */
  readonly platform?: unknown;
  /** Takes work after the answer, if the platform has such a function. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

export interface FetchMount<Req> {
  /** Whether the URL has the mount's `path`; true without one. */
  isFor(url: string): boolean;
  /** Never rejects. */
  serve(incoming: Incoming<Req>): Promise<Response>;
}

/**
 * The common part of the mounts over web-standard requests.
 * @param consumed the fix for a body that was read before the mount, in this framework's terms
 * @throws UsageError `receiver-invalid`; `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function createFetchMount<Req>(
  receiver: Receiver,
  options: AnyMountOptions<Req>,
  consumed: string,
): FetchMount<Req> {
  assertReceiver(receiver);
  const isFor = toPathTest(options.path);
  const afterHandlers = toAfterHandlers(options);

  return {
    isFor,
    async serve(incoming) {
      const { request, original, platform, waitUntil } = incoming;
      if (!isFor(request.url)) return toResponse(NOT_FOUND);
      const raw: RawRequest = {
        method: request.method,
        url: request.url,
        headers: Object.fromEntries(request.headers),
        body: bodyOf(incoming, consumed),
        ...(platform === undefined ? {} : { platform }),
      };
      try {
        const reply = await receiver.receive(withSource(raw, options.source, original), afterHandlers);
        const response = toResponse(reply);
        if (reply.status === 200 && afterHandlers === undefined) {
          const work = waitUntil && workAfterResponse(receiver);
          if (work !== undefined) passTo(waitUntil, work);
        }
        return response;
      } catch {
        return toResponse(UNDECIDED);
      }
    },
  };
}

/** Passes work to the platform's `waitUntil`. Its failure is ignored: no answer depends on the work. */
export function passTo(waitUntil: Incoming<unknown>["waitUntil"], work: Promise<unknown>): void {
  try {
    waitUntil?.(work);
  } catch {
    // The answer stands, and stored deliveries are handled later.
  }
}

function bodyOf({ request, earlierReads }: Incoming<unknown>, consumed: string): RawRequest["body"] {
  const header = request.headers.get("content-length");
  const declared = header === null ? undefined : Number(header);
  if (declared === 0 || (declared === undefined && !request.bodyUsed && request.body === null))
    return new Uint8Array(0);
  // `bodyUsed` is checked when the receiver reads: earlier middleware may have read the body by then.
  return async (limits) => {
    const bytes = await readBodyFetch(request, declared, limits);
    if (bytes !== undefined) return bytes;
    for (const read of (await earlierReads?.()) ?? []) {
      const found = bytesOf(read);
      // A lossy decoding to text changes the length.
      if (found !== undefined && (declared === undefined || found.byteLength === declared)) return found;
    }
    throw bodyConsumed(consumed);
  };
}

function bytesOf(read: unknown): Uint8Array | undefined {
  if (typeof read === "string") return Buffer.from(read);
  return read instanceof ArrayBuffer ? new Uint8Array(read) : undefined;
}

/** A body of `""` would add a content type. */
function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body === "" ? null : body, { status, headers: { ...headers } });
}
