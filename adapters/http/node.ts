import type { IncomingMessage, ServerResponse } from "node:http";
import type { MountOptions } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { createNodeMount, type AddedFields, type Advice } from "./shared/mount-node.ts";
import { assertMountOptions } from "./shared/mount.ts";

/**
 * The receiver as a listener of `node:http`. A request for another path than `options.path` is answered 404.
 *
 * @example
 * createServer(nodeReceiver(receiver, { path: "/webhooks" })).listen(3000);
 * @throws UsageError `option-invalid` for a `path` that no request can have
 */
export function nodeReceiver(
  receiver: Receiver,
  options: MountOptions<IncomingMessage> = {},
): (req: IncomingMessage, res: ServerResponse) => void {
  assertMountOptions("nodeReceiver", options);
  const mount = createNodeMount(receiver, options, ADVICE);
  return (req, res) => {
    const { originalUrl, rawBody, body } = req as IncomingMessage & AddedFields;
    const url = originalUrl ?? req.url ?? "";
    void (mount.isFor(url)
      ? mount.serve({ req, res, url, original: req, earlierReads: [rawBody, body] })
      : mount.notFound(req, res));
  };
}

const ADVICE: Advice = {
  consumed:
    "Let `nodeReceiver(receiver)` have the request before anything reads it; where that cannot be, keep the bytes that were read: `req.rawBody = buffer`.",
  parsedBefore:
    "Let `nodeReceiver(receiver)` have the request before anything reads it: what refuses a delivery before the mount, refuses it unseen.",
};
