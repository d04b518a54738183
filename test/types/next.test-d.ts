// Next's own types are held against the mounts in test/mounts/next.test.ts, where Next is installed.
import { createReceiver, forwardInbox, memoryInbox, type AfterHandlers } from "hookline";
import { fetchReceiver } from "hookline/fetch";
import {
  nextPagesReceiver,
  nextReceiver,
  type FetchOptions,
  type NextApiRequestLike,
  type NextApiResponseLike,
  type NextPagesHandler,
} from "hookline/next";
import { sqliteInbox } from "hookline/sqlite";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Equal, Expect, Fits } from "./support.ts";

const secret = process.env["SIGNING_SECRET"];
const memory = createReceiver({ secret, inbox: memoryInbox() });
const disk = createReceiver({ secret, inbox: sqliteInbox("inbox.db") });
const queue = createReceiver({ secret, inbox: forwardInbox(async () => {}) });
const handlers: AfterHandlers = { answer: "after-handlers", timeoutMs: 20_000 };
declare const chance: boolean;

// App router: the fetch mount by another name.
export type IsTheFetchMount = Expect<Equal<typeof nextReceiver, typeof fetchReceiver>>;
export const POST: (request: Request) => Promise<Response> = nextReceiver(memory, { runtime: "long-lived" });
export const options: FetchOptions = { waitUntil: (work: Promise<unknown> | (() => unknown)) => void work };
nextReceiver(queue, options);
// @ts-expect-error -- an inbox in memory does not outlive the function
nextReceiver(memory);

// Pages router: Next adds to Node's request and response.
interface NextApiRequest extends IncomingMessage {
  query: Partial<Record<string, string | string[]>>;
  cookies: Partial<Record<string, string>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- as Next has it
  body: any;
  preview?: boolean;
}
type NextApiResponse = ServerResponse & { status(code: number): NextApiResponse };
type NextApiHandler = (req: NextApiRequest, res: NextApiResponse) => unknown;

export const handler: NextApiHandler = nextPagesReceiver(queue);
for (const receiver of [memory, disk]) {
  nextPagesReceiver(receiver, { runtime: "long-lived", path: chance ? "/api/webhooks" : undefined, source: undefined });
  nextPagesReceiver(receiver, { ...handlers, source: (req) => req.query?.["tenant"]?.toString() });
}
nextPagesReceiver(queue, { source: (req) => req.headers.host });
export const ofCookies: NextApiHandler = nextPagesReceiver(queue, {
  source: (req: NextApiRequest) => req.cookies["tenant"],
});
createServer((req, res) => void nextPagesReceiver(queue)(req, res));

export type NextFits = [
  Expect<Fits<NextApiRequest, NextApiRequestLike>>,
  Expect<Fits<NextApiResponse, NextApiResponseLike>>,
  Expect<Fits<NextPagesHandler, NextApiHandler>>,
];

// @ts-expect-error -- an inbox in memory does not outlive the function
nextPagesReceiver(memory);
// @ts-expect-error -- nor does a file
nextPagesReceiver(disk, { path: "/api/webhooks" });
// @ts-expect-error -- a deadline is wanted
nextPagesReceiver(memory, { answer: "after-handlers" });
// @ts-expect-error -- another runtime is not known
nextPagesReceiver(memory, { runtime: "edge" });
// @ts-expect-error -- `after` of Next is for the app router
nextPagesReceiver(queue, { waitUntil: (work: Promise<unknown>) => void work });
// @ts-expect-error -- a source is a text
nextPagesReceiver(queue, { source: () => 1 });
