// oxlint-disable typescript/no-explicit-any -- each Worker has its own type of `env`, and Cloudflare's `waitUntil` takes `any`
import type { AfterHandlers, MountOptions, OutlivesFunction, StorageKind } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createFetchMount, passTo } from "./shared/mount-fetch.ts";
import { AFTER_HANDLERS, assertMountOptions, type AnyMountOptions } from "./shared/mount.ts";

/** The used fields of a Worker's execution context. */
export interface WorkersContextLike {
  /** Keeps the Worker running while work goes on after the answer. */
  waitUntil(work: Promise<any>): void;
}

/** The `fetch` of a Worker. */
export type WorkersHandler = (request: Request, env: any, ctx: WorkersContextLike) => Promise<Response>;

/**
 * The receiver as the `fetch` of a Cloudflare Worker, with `nodejs_compat`. A secret look-up gets the Worker's bindings in
 * `request.platform.env`. A request for another path than `options.path` is answered 404.
 *
 * @example
 * export default { fetch: workersReceiver(receiver) };
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function workersReceiver(receiver: Receiver, options: MountOptions<Request> & AfterHandlers): WorkersHandler;
/** Answers as soon as the delivery is stored, in an inbox that outlives the Worker. */
export function workersReceiver<K extends StorageKind>(
  receiver: Receiver<K> & OutlivesFunction<K>,
  options?: MountOptions<Request>,
): WorkersHandler;
export function workersReceiver(receiver: Receiver, options: AnyMountOptions<Request> = {}): WorkersHandler {
  assertMountOptions("workersReceiver", options, AFTER_HANDLERS);
  const mount = createFetchMount(receiver, options, CONSUMED);
  return (request, env: unknown, ctx) => {
    const waitUntil = (work: Promise<unknown>): void => ctx.waitUntil(work);
    const served = mount.serve({ request, original: request, platform: { env, ctx }, waitUntil });
    // A client's disconnect would stop its request, which then never releases what it holds.
    passTo(waitUntil, served);
    return served;
  };
}

const CONSUMED =
  "Let `workersReceiver(receiver)` have the request before anything reads its body, or give what reads it `request.clone()`.";
