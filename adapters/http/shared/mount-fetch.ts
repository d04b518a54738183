import {
  bodyConsumed,
  toAnswering,
  workAfterResponse,
  type AfterHandlers,
  type MountOptions,
  type RawRequest,
} from "../../../src/adapter.ts";
import type { Receiver } from "../../../src/index.ts";
import { FOREIGN_PATH, UNDECIDED, type Answer } from "./mount-responses.ts";
import { toPathTest } from "./path.ts";
import { readFetch, type FetchBody } from "./read-body-fetch.ts";
import { withSource } from "./source-option.ts";

/** One request as a framework or platform over web-standard requests hands it on. */
interface Arrival<Req> {
  readonly request: Pick<Request, "method" | "url" | "headers"> & FetchBody;
  /** What `source` is asked with. */
  readonly asked: Req;
  /** Bytes or text that an earlier reader left, the most faithful first; asked for only when the body was read. */
  readonly left?: () => Promise<readonly unknown[]>;
  /** What the platform gives beside the request. */
  readonly platform?: unknown;
  /** Where work after the answer goes, if the platform has such a place. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

export interface FetchMount<Req> {
  /** Without a `path` everything that reaches the mount is for it. */
  isFor(url: string): boolean;
  /** Never rejects. */
  serve(arrival: Arrival<Req>): Promise<Response>;
}

/** What a mount's options may say, whatever its overloads allow together. */
export type AnyMountOptions<Req> = MountOptions<Req> & { [K in keyof AfterHandlers]?: AfterHandlers[K] | undefined };

/**
 * What the mounts over web-standard requests share.
 * @param consumed what to change where something reads the body before the mount, in this framework's words
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function createFetchMount<Req>(
  receiver: Receiver,
  options: AnyMountOptions<Req>,
  consumed: string,
): FetchMount<Req> {
  const isFor = toPathTest(options.path);
  const answering = toAnswering(options);

  return {
    isFor,
    async serve(arrival) {
      const { request, asked, platform, waitUntil } = arrival;
      if (!isFor(request.url)) return toResponse(FOREIGN_PATH);
      const raw: RawRequest = {
        method: request.method,
        url: request.url,
        headers: Object.fromEntries(request.headers),
        body: bodyOf(arrival, consumed),
        ...(platform === undefined ? {} : { platform }),
      };
      try {
        const reply = await receiver.receive(withSource(raw, options.source, asked), answering);
        const response = toResponse(reply);
        if (reply.status === 200 && answering === undefined) drain(receiver, waitUntil);
        return response;
      } catch {
        return toResponse(UNDECIDED);
      }
    },
  };
}

/** Gives work to the platform. One that takes none now gets none: no answer depends on it. */
export function handOver(work: Promise<unknown>, waitUntil: Arrival<unknown>["waitUntil"]): void {
  try {
    waitUntil?.(work);
  } catch {
    // What was decided stands, and what is stored is handled later.
  }
}

function bodyOf({ request, left }: Arrival<unknown>, consumed: string): RawRequest["body"] {
  const header = request.headers.get("content-length");
  const declared = header === null ? undefined : Number(header);
  if (declared === 0 || (declared === undefined && !request.bodyUsed && request.body === null))
    return new Uint8Array(0);
  // Asked again when the receiver wants the bytes: an earlier middleware may have read them meanwhile.
  return async (limits) => {
    const bytes = await readFetch(request, declared, limits);
    if (bytes !== undefined) return bytes;
    for (const thing of (await left?.()) ?? []) {
      const found = bytesOf(thing);
      // A text that was decoded with loss has another length than the bytes that arrived.
      if (found !== undefined && (declared === undefined || found.byteLength === declared)) return found;
    }
    throw bodyConsumed(consumed);
  };
}

function bytesOf(thing: unknown): Uint8Array | undefined {
  if (typeof thing === "string") return Buffer.from(thing);
  return thing instanceof ArrayBuffer ? new Uint8Array(thing) : undefined;
}

function drain(receiver: Receiver, waitUntil: Arrival<unknown>["waitUntil"]): void {
  const work = waitUntil && workAfterResponse(receiver);
  if (work !== undefined) handOver(work, waitUntil);
}

/** Without a body it has no content type either, which `""` would get. */
function toResponse({ status, headers, body }: Answer): Response {
  return new Response(body === "" ? null : body, { status, headers: { ...headers } });
}
