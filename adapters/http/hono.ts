import type { AfterHandlers, MountOptions, OutlivesFunction, StorageKind } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createFetchMount, passTo } from "./shared/mount-fetch.ts";
import { AFTER_HANDLERS, assertMountOptions, type AnyMountOptions } from "./shared/mount.ts";

/** The used fields of a Hono context. */
export interface HonoContextLike {
  req: {
    raw: Request;
    /** Bodies that earlier middleware read, by the method that read them. */
    bodyCache: object;
    /** A parameter of the route. */
    param(name: string): string | undefined;
  };
  env: unknown;
  /** Throws on a runtime without one. */
  executionCtx: {
    /** Keeps the function running while work goes on after the answer. */
    waitUntil(work: Promise<unknown>): void;
  };
}

/** For `app.use`, `app.all`, `app.post` and others that take a handler. */
export type HonoHandler = (c: HonoContextLike, next: () => Promise<void>) => Promise<Response | void>;

/**
 * The receiver as a Hono handler, on every runtime that Hono runs on. With `options.path` other paths go on to the next handler. A
 * look-up of secrets finds the runtime's bindings in `request.platform.env`; work after the answer goes to the runtime's `waitUntil`,
 * if it has one.
 *
 * @example
 * app.all("/webhooks", honoReceiver(receiver, { runtime: "long-lived" })); // a server of your own
 * @example
 * app.all("/webhooks", honoReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000 })); // a function
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function honoReceiver(
  receiver: Receiver,
  options: MountOptions<HonoContextLike> & {
    /** This process runs on after the answer, and you call `receiver.start()` and `close()`. */
    runtime: "long-lived";
  },
): HonoHandler;
/** Answers when the handlers are done. */
export function honoReceiver(receiver: Receiver, options: MountOptions<HonoContextLike> & AfterHandlers): HonoHandler;
/** Answers as soon as the delivery is stored, in an inbox that outlives the function. */
export function honoReceiver<K extends StorageKind>(
  receiver: Receiver<K> & OutlivesFunction<K>,
  options?: MountOptions<HonoContextLike>,
): HonoHandler;
export function honoReceiver(
  receiver: Receiver,
  options: AnyMountOptions<HonoContextLike> & { runtime?: "long-lived" } = {},
): HonoHandler {
  assertMountOptions("honoReceiver", options, [...AFTER_HANDLERS, "runtime"]);
  const mount = createFetchMount(receiver, options, CONSUMED);
  return async (c, next) => {
    const request = c.req.raw;
    if (!mount.isFor(request.url)) return next();
    // The getter throws where there is none, which is slow: skip it on a long-lived server.
    const ctx = options.runtime === "long-lived" ? undefined : executionCtxOf(c);
    const waitUntil = ctx && ((work: Promise<unknown>): void => ctx.waitUntil(work));
    const earlierReads = (): Promise<readonly unknown[]> => earlierReadsIn(c.req.bodyCache);
    const served = mount.serve({ request, original: c, earlierReads, platform: { env: c.env, ctx }, waitUntil });
    // On Workers a client's disconnect would stop its request, which then never releases what it holds.
    passTo(waitUntil, served);
    return served;
  };
}

function executionCtxOf(c: HonoContextLike): HonoContextLike["executionCtx"] | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

/** Hono stores promises there, whatever its types say, and derives `c.req.json()` from the text. */
async function earlierReadsIn(cache: { arrayBuffer?: unknown; text?: unknown }): Promise<readonly unknown[]> {
  return [await cache.arrayBuffer, await cache.text];
}

const CONSUMED =
  'Move `app.all("/webhooks", honoReceiver(receiver))` above what reads `c.req.raw`; where that cannot be, let that read by `await c.req.arrayBuffer()`, whose bytes Hono keeps.';
