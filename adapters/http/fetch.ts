import type { AfterHandlers, MountOptions, OutlivesFunction, StorageKind } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createFetchMount } from "./shared/mount-fetch.ts";
import { AFTER_HANDLERS, assertMountOptions, type AnyMountOptions } from "./shared/mount.ts";

export interface FetchOptions extends MountOptions<Request> {
  /**
   * The platform's function that lets work go on after the answer. It has an effect only where handlers are registered, with `postgresInbox` or
   * an inbox of your own that outlives the function.
   */
  waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/**
 * The receiver as a function from a web-standard Request to a Response: for your own servers (`runtime: "long-lived"`), and for
 * functions, where the process may freeze after the answer. A request for another path than `options.path` is answered 404.
 *
 * @example
 * Deno.serve(fetchReceiver(receiver, { runtime: "long-lived", path: "/webhooks" }));
 * @example
 * export default { fetch: fetchReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000 }) };
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function fetchReceiver(
  receiver: Receiver,
  options: FetchOptions & {
    /** This process runs on after the answer, and you call `receiver.start()` and `close()`. */
    runtime: "long-lived";
  },
): (request: Request) => Promise<Response>;
/** Answers when the handlers are done. */
export function fetchReceiver(
  receiver: Receiver,
  options: FetchOptions & AfterHandlers,
): (request: Request) => Promise<Response>;
/** Answers as soon as the delivery is stored, in an inbox that outlives the function. */
export function fetchReceiver<K extends StorageKind>(
  receiver: Receiver<K> & OutlivesFunction<K>,
  options?: FetchOptions,
): (request: Request) => Promise<Response>;
export function fetchReceiver(
  receiver: Receiver,
  options: AnyMountOptions<Request> & FetchOptions = {},
): (request: Request) => Promise<Response> {
  assertMountOptions("fetchReceiver", options, [...AFTER_HANDLERS, "runtime", "waitUntil"]);
  const mount = createFetchMount(receiver, options, CONSUMED);
  const { waitUntil } = options;
  return (request) => mount.serve({ request, original: request, waitUntil });
}

const CONSUMED =
  "Let `fetchReceiver(receiver)` have the request before anything reads its body, or give what reads it `request.clone()`.";
