import type { IncomingMessage, ServerResponse } from "node:http";
import type { AfterHandlers, MountOptions, OutlivesFunction, StorageKind } from "../../src/adapter.ts";
import type { Receiver } from "../../src/index.ts";
import { fetchReceiver } from "./fetch.ts";
import { createNodeMount, type Advice } from "./shared/mount-node.ts";
import { AFTER_HANDLERS, assertMountOptions, type AnyMountOptions } from "./shared/mount.ts";

export type { FetchOptions } from "./fetch.ts";

/** Fields that Next's pages router adds to Node's request. */
export interface NextAdditionsLike {
  /** The parsed body; none where Next's body parser is off. */
  body?: unknown;
  /** The query with the route's parameters, for `source`. */
  query?: Partial<Record<string, string | string[]>> | undefined;
}

/** The used fields of a request of Next's pages router. */
export type NextApiRequestLike = IncomingMessage & NextAdditionsLike;

/** A response of Next's pages router is Node's own. */
export type NextApiResponseLike = ServerResponse;

/** The default export of a file below `pages/api`. */
export type NextPagesHandler<Req = NextApiRequestLike> = (req: Req, res: NextApiResponseLike) => Promise<void>;

/**
 * The receiver as a route handler of Next's app router: another name of {@link fetchReceiver}. Next itself answers methods that the
 * route file does not export. A `path` is compared with the URL before rewrites, without the app's `basePath`.
 *
 * @example
 * export const POST = nextReceiver(receiver, { runtime: "long-lived" }); // `next start` on a server of your own
 * @example
 * import { after } from "next/server"; // on a function platform, with an inbox that outlives it
 * export const POST = nextReceiver(receiver, { waitUntil: after });
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export const nextReceiver: typeof fetchReceiver = fetchReceiver;

/**
 * The receiver as an API route of Next's pages router, whose body parser must be off. A request for another path than
 * `options.path` is answered 404; it is compared with the URL before rewrites, without the app's `basePath`.
 *
 * @example
 * export const config = { api: { bodyParser: false } };
 * export default nextPagesReceiver(receiver, { runtime: "long-lived" }); // `next start` on a server of your own
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a bad `answer` or `timeoutMs`
 */
export function nextPagesReceiver<Req extends NextApiRequestLike = NextApiRequestLike>(
  receiver: Receiver,
  options: MountOptions<Req> & {
    /** This process runs on after the answer, and you call `receiver.start()` and `close()`. */
    runtime: "long-lived";
  },
): NextPagesHandler<Req>;
/** Answers when the handlers are done. */
export function nextPagesReceiver<Req extends NextApiRequestLike = NextApiRequestLike>(
  receiver: Receiver,
  options: MountOptions<Req> & AfterHandlers,
): NextPagesHandler<Req>;
/** Answers as soon as the delivery is stored, in an inbox that outlives the function. */
export function nextPagesReceiver<K extends StorageKind, Req extends NextApiRequestLike = NextApiRequestLike>(
  receiver: Receiver<K> & OutlivesFunction<K>,
  options?: MountOptions<Req>,
): NextPagesHandler<Req>;
export function nextPagesReceiver<Req extends NextApiRequestLike>(
  receiver: Receiver,
  options: AnyMountOptions<Req> = {},
): NextPagesHandler<Req> {
  assertMountOptions("nextPagesReceiver", options, [...AFTER_HANDLERS, "runtime"]);
  const mount = createNodeMount(receiver, options, ADVICE);
  return (req, res) => {
    const { url = "" } = req;
    return mount.isFor(url)
      ? mount.serve({ req, res, url, original: req, earlierReads: [req.body] })
      : mount.notFound(req, res);
  };
}

const PARSER_OFF =
  "Switch Next's body parser off: put `export const config = { api: { bodyParser: false } };` beside `export default nextPagesReceiver(receiver)`";

const ADVICE: Advice = {
  consumed: `${PARSER_OFF}.`,
  parsedBefore: `${PARSER_OFF}: it refuses on its own what is over its limit, 1 MB by default.`,
};
