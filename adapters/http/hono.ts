import type { AfterHandlers, StorageKind, MountOptions, OutlivesFunction } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createFetchMount, handOver, type AnyMountOptions } from "./shared/mount-fetch.ts";
import { AFTER_HANDLERS, assertMountOptions } from "./shared/mount-options.ts";

/** What is used of a Hono context. */
export interface HonoContextLike {
  req: {
    raw: Request;
    /** What earlier middleware read, by the way in which it read it. */
    bodyCache: object;
    /** What the route's pattern says, by its name. */
    param(name: string): string | undefined;
  };
  env: unknown;
  /** Throws where the runtime gives none. */
  executionCtx: {
    /** StorageKind the function while work goes on after the answer. */
    waitUntil(work: Promise<unknown>): void;
  };
}

/** Fits `app.use`, `app.all`, `app.post` and what else takes a handler. */
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
    /** This process goes on after the answer, and you call `receiver.start()` and `close()`. */
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
    // Where there is none, asking costs an error: a server of one's own is not asked.
    const ctx = options.runtime === "long-lived" ? undefined : executionCtxOf(c);
    const waitUntil = ctx && ((work: Promise<unknown>): void => ctx.waitUntil(work));
    const left = (): Promise<readonly unknown[]> => leftIn(c.req.bodyCache);
    const served = mount.serve({ request, asked: c, left, platform: { env: c.env, ctx }, waitUntil });
    // On Workers a client that goes away would stop the work on its request, which then never gives back what it holds.
    handOver(served, waitUntil);
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

/** Hono keeps promises there, whatever its types say, and makes `c.req.json()` of the text. */
async function leftIn(cache: { arrayBuffer?: unknown; text?: unknown }): Promise<readonly unknown[]> {
  return [await cache.arrayBuffer, await cache.text];
}

const CONSUMED =
  'Move `app.all("/webhooks", honoReceiver(receiver))` above what reads `c.req.raw`; where that cannot be, let that read by `await c.req.arrayBuffer()`, whose bytes Hono keeps.';
