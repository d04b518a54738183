// oxlint-disable typescript/no-explicit-any -- each Worker has an `env` of its own, and Cloudflare's types say `any` of what is waited for
import type { AfterHandlers, StorageKind, MountOptions, OutlivesFunction } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createFetchMount, handOver, type AnyMountOptions } from "./shared/mount-fetch.ts";
import { AFTER_HANDLERS, assertMountOptions } from "./shared/mount-options.ts";

/** What is used of a Worker's execution context. */
export interface WorkersContextLike {
  /** StorageKind the Worker while work goes on after the answer. */
  waitUntil(work: Promise<any>): void;
}

/** The `fetch` of a Worker. */
export type WorkersHandler = (request: Request, env: any, ctx: WorkersContextLike) => Promise<Response>;

/**
 * The receiver as the `fetch` of a Cloudflare Worker, with `nodejs_compat`. A look-up of secrets finds the Worker's bindings in
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
    const served = mount.serve({ request, asked: request, platform: { env, ctx }, waitUntil });
    // A client that goes away would stop the work on its request, which then never gives back what it holds.
    handOver(served, waitUntil);
    return served;
  };
}

const CONSUMED =
  "Let `workersReceiver(receiver)` have the request before anything reads its body, or give what reads it `request.clone()`.";
