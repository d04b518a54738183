import type { AfterHandlers, MountOptions, OutlivesFunction, StorageKind } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createFetchMount } from "./shared/mount-fetch.ts";
import { AFTER_HANDLERS, assertMountOptions, type AnyMountOptions } from "./shared/mount.ts";

/** The used fields of a request of Azure Functions, programming model v4. */
export interface AzureRequestLike {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  /** A web `ReadableStream`. */
  readonly body: object | null;
  readonly bodyUsed: boolean;
  /** The whole body. */
  arrayBuffer(): Promise<ArrayBuffer>;
  /** The route's parameters, for `source`. */
  readonly params: Record<string, string>;
}

/** A response of Azure Functions. The status is always set: without one Azure would answer 204. */
export interface AzureResponseLike {
  status: number;
  headers: Record<string, string>;
  body?: string;
}

/** The `handler` of `app.http`. */
export type AzureHandler<Req> = (request: Req, context: object) => Promise<AzureResponseLike>;

/**
 * The receiver as an HTTP function of Azure, programming model v4. Set `authLevel: "anonymous"`: the
 * signature authenticates.
 *
 * `options.path` is compared with the path of the whole URL, `/api` included; other paths are answered 404. A look-up of secrets
 * finds `{ request, context }` as `platform`. After the answer the process may be stopped: nothing runs then.
 *
 * @example
 * app.http("webhooks", { methods: ["POST"], authLevel: "anonymous", handler: azureReceiver(receiver) });
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function azureReceiver<K extends StorageKind, Req extends AzureRequestLike = AzureRequestLike>(
  receiver: Receiver<K> & OutlivesFunction<K>,
  options?: MountOptions<Req>,
): AzureHandler<Req>;
/** Answers when the handlers are done. */
export function azureReceiver<Req extends AzureRequestLike = AzureRequestLike>(
  receiver: Receiver,
  options: MountOptions<Req> & AfterHandlers,
): AzureHandler<Req>;
export function azureReceiver<Req extends AzureRequestLike>(
  receiver: Receiver,
  options: AnyMountOptions<Req> = {},
): AzureHandler<Req> {
  assertMountOptions("azureReceiver", options, AFTER_HANDLERS);
  const mount = createFetchMount(receiver, options, CONSUMED);
  return async (original, context) => {
    const request = original as Req & { readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null };
    const response = await mount.serve({ request, original, platform: { request: original, context } });
    const body = await response.text();
    // A body of `""` would add a content type.
    return { status: response.status, headers: Object.fromEntries(response.headers), ...(body === "" ? {} : { body }) };
  };
}

const CONSUMED =
  "Let `azureReceiver(receiver)` have the request before anything reads its body, or give what reads it `request.clone()`.";
