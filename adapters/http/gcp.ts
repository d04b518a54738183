import type { IncomingMessage, ServerResponse } from "node:http";
import type { AfterHandlers, StorageKind, MountOptions, OutlivesFunction } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import type { ExpressRequestLike, ExpressResponseLike } from "./express.ts";
import type { AnyMountOptions } from "./shared/mount-fetch.ts";
import { createNodeMount, type Advice } from "./shared/mount-node.ts";
import { AFTER_HANDLERS, assertMountOptions } from "./shared/mount-options.ts";

/** What is used of the Functions Framework's request, which is Express's. */
export interface GcpRequestLike extends ExpressRequestLike {
  originalUrl: string;
}

/** What `http()` of the Functions Framework registers. */
export type GcpHandler<Req> = (req: Req, res: ExpressResponseLike) => Promise<void>;

/**
 * The receiver as an HTTP function of Google Cloud. The Functions Framework has always parsed the body before, and leaves its bytes
 * in `rawBody`. What it cannot parse it refuses on its own: a body that says it is JSON and is none is answered 400 unseen.
 *
 * `options.path` is compared with the URL's path as the function sees it; other paths are answered 404. After the answer the
 * process may be frozen: nothing runs then.
 *
 * @example
 * http("webhooks", gcpReceiver(receiver)); // with a forwardInbox, to Pub/Sub for example
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function gcpReceiver<K extends StorageKind, Req extends GcpRequestLike = GcpRequestLike>(
  receiver: Receiver<K> & OutlivesFunction<K>,
  options?: MountOptions<Req>,
): GcpHandler<Req>;
/** Answers when the handlers are done. */
export function gcpReceiver<Req extends GcpRequestLike = GcpRequestLike>(
  receiver: Receiver,
  options: MountOptions<Req> & AfterHandlers,
): GcpHandler<Req>;
export function gcpReceiver<Req extends GcpRequestLike>(
  receiver: Receiver,
  options: AnyMountOptions<Req> = {},
): GcpHandler<Req> {
  assertMountOptions("gcpReceiver", options, AFTER_HANDLERS);
  const mount = createNodeMount(receiver, options, ADVICE);
  return (request, response) => {
    const url = request.originalUrl;
    // Express gives Node's own two objects a new prototype.
    const [req, res] = [request, response] as unknown as [IncomingMessage, ServerResponse];
    if (!mount.isFor(url)) return mount.refuse({ req, res });
    return mount.serve({ req, res, url, request, left: [request.rawBody, request.body] });
  };
}

const ADVICE: Advice = {
  consumed:
    "Serve `gcpReceiver(receiver)` with @google-cloud/functions-framework, which keeps the bytes in `req.rawBody`; on another server keep them there yourself.",
};
