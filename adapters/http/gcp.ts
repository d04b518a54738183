import type { IncomingMessage, ServerResponse } from "node:http";
import type { AfterHandlers, MountOptions, OutlivesFunction, StorageKind } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import type { ExpressRequestLike, ExpressResponseLike } from "./express.ts";
import { createNodeMount, type Advice } from "./shared/mount-node.ts";
import { AFTER_HANDLERS, assertMountOptions, type AnyMountOptions } from "./shared/mount.ts";

/** The used fields of the Functions Framework's request, which is Express's. */
export interface GcpRequestLike extends ExpressRequestLike {
  originalUrl: string;
}

/** The argument of the Functions Framework's `http()`. */
export type GcpHandler<Req> = (req: Req, res: ExpressResponseLike) => Promise<void>;

/**
 * The receiver as an HTTP function of Google Cloud. The Functions Framework parses every body before the function, and leaves the
 * bytes in `rawBody`. It answers 400 itself to a body that it cannot parse, such as invalid JSON.
 *
 * `options.path` is compared with the URL's path as the function gets it; other paths are answered 404. After the answer the
 * process may freeze: nothing runs.
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
    // Express's objects are Node's own with another prototype.
    const [req, res] = [request, response] as unknown as [IncomingMessage, ServerResponse];
    if (!mount.isFor(url)) return mount.notFound(req, res);
    return mount.serve({ req, res, url, original: request, earlierReads: [request.rawBody, request.body] });
  };
}

const ADVICE: Advice = {
  consumed:
    "Serve `gcpReceiver(receiver)` with @google-cloud/functions-framework, which keeps the bytes in `req.rawBody`; on another server keep them there yourself.",
};
