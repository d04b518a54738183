import { appendFile } from "node:fs/promises";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { eventsOf, parseDocument } from "../../adapter.ts";
import { explain, type Mistake } from "../../signature.ts";
import { toFailure, type RequestFailure } from "../answers/request-failure.ts";
import { causeOfStatus } from "../answers/status-causes.ts";
import { toJsonLine } from "../terminal/escape-terminal.ts";
import { forward, type AppAnswer, type Forwarded } from "./forward.ts";

/** A request that was forwarded to the app once, and what came back. */
export interface Passed {
  readonly at: Date;
  readonly method: string;
  readonly path: string;
  /** In the order of the body. */
  readonly events: readonly string[];
  readonly accountId: number | undefined;
  /** The app's; undefined where it gave no answer. */
  readonly status: number | undefined;
  /** What the service got. */
  readonly answered: number;
  readonly ms: number;
  /** Why the app did not accept it. */
  readonly causes: readonly Mistake[];
  /** Seconds until the app gets it again, of one that is held. */
  readonly againInSeconds: number | undefined;
}

interface PassThroughOptions {
  readonly to: URL;
  readonly secret: string;
  /** Identifies this run to whoever asks whether a URL leads here. */
  readonly run: string;
  /** A 422 of the app goes on as it is; otherwise as 503. */
  readonly allowUnsubscribe: boolean;
  /** Deliveries are answered 200 once they are captured, and repeated here until the app answers 200. */
  readonly hold: boolean;
  /** The file to which deliveries are appended. */
  readonly capture: string | undefined;
  /** Called with each request to the app as it ends, but for handshakes of this program. */
  readonly onPassed: (passed: Passed) => void;
  readonly note: (text: string) => void;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** Query parameter of a request that asks whether a URL leads to a run. */
export const RUN_PARAMETER = "hookline-dev";
/** What tokens of this program's own handshakes begin with. */
export const OWN_TOKEN = "hookline-dev-";
const GAVE_UP: RequestFailure = { code: "GONE", words: "the service closed the connection before the app answered" };
const MAX_BODY_BYTES = 64 * 1_024 ** 2;
/** After the first attempt of a held delivery; it doubles. */
const FIRST_REPEAT_SECONDS = 1;
const MOST_REPEAT_SECONDS = 30;

/** A server between the service and the app, which changes no byte of a body. */
export function createPassThrough(options: PassThroughOptions) {
  const { to, secret, run, allowUnsubscribe, hold, capture, onPassed, note, signal } = options;
  const captured = new Set<unknown>();
  let waiting = 0;

  /** To the app, and reported. Never rejects. */
  async function pass(request: Received, stop: AbortSignal, repeatInSeconds?: number) {
    const begin = performance.now();
    const answer = await forward(request, to, stop).catch((error: unknown) =>
      stop.aborted ? GAVE_UP : toFailure(error, to.href),
    );
    const status = "status" in answer ? answer.status : undefined;
    const answered = status === undefined ? 502 : status === 422 && !allowUnsubscribe ? 503 : status;
    const { method, path, body } = request;
    const document = parseDocument(body);
    if (!request.isOwn && !signal.aborted)
      onPassed({
        at: new Date(),
        method,
        path,
        events: request.isDelivery ? eventsOf(document).map(({ type }) => type) : ["handshake"],
        accountId: document.envelope?.accountId,
        status,
        answered: repeatInSeconds === undefined ? answered : 200,
        ms: performance.now() - begin,
        causes: status === 401 ? causesOf401(request, secret) : causesOf(answer, answered),
        againInSeconds: status === 200 ? undefined : repeatInSeconds,
      });
    return { answer, status, answered };
  }

  async function repeat(request: Received): Promise<void> {
    waiting += 1;
    for (let seconds = FIRST_REPEAT_SECONDS; !signal.aborted; seconds = Math.min(seconds * 2, MOST_REPEAT_SECONDS)) {
      if ((await pass(request, signal, seconds)).status === 200) break;
      await sleep(seconds * 1_000, undefined, { signal }).catch(() => {});
    }
    if (!signal.aborted) waiting -= 1;
  }

  /** @returns whether it is in the file */
  async function store(request: Received): Promise<boolean> {
    const signature = request.headers["x-aurinko-signature"];
    // A redelivery with the same signature is the same delivery.
    if (capture === undefined || captured.has(signature)) return capture !== undefined;
    const { method, path, search, headers, body } = request;
    const line = { receivedAt: new Date(), method, url: path + search, headers, bodyBase64: body.toString("base64") };
    try {
      await appendFile(capture, `${toJsonLine(line)}\n`, { mode: 0o600, flush: true });
      if (signature !== undefined) captured.add(signature);
      return true;
    } catch (error) {
      note(`A delivery was not captured: ${(error as Error).message}.`);
      return false;
    }
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = URL.parse(req.url ?? "", "http://localhost");
    if (url?.searchParams.get(RUN_PARAMETER) === run) return void res.end(run);
    // Whoever finds the public URL of a tunnel reaches one route, not the whole app.
    if (url?.pathname !== to.pathname) return void res.writeHead(404).end();
    const request = await receive(req, url);
    if (request === undefined) return void res.writeHead(413, { Connection: "close" }).end();
    const isStored = request.isDelivery && (await store(request));
    // A forged one would be repeated for ever.
    if (hold && request.isDelivery && explain(request, secret).mistakes.length === 0) {
      res.writeHead(isStored ? 200 : 503).end();
      return isStored ? repeat(request) : undefined;
    }
    const gone = new AbortController();
    res.once("close", () => gone.abort());
    waiting += 1;
    const { answer, answered } = await pass(request, gone.signal);
    waiting -= 1;
    if ("status" in answer && answer.status === answered) {
      res.sendDate = false;
      res.writeHead(answer.status, answer.statusText, [...answer.rawHeaders]).end(answer.body);
      return;
    }
    res.writeHead(answered, { "Content-Type": "text/plain; charset=utf-8" });
    res.end("status" in answer ? "The app answered 422." : answer.words);
  }

  const listener: RequestListener = (req, res) => {
    req.on("error", () => {});
    void handle(req, res).catch(() => void res.destroy());
  };
  return {
    listener,
    /** Requests that the app has not answered, and held ones that it has not accepted. */
    waiting: () => waiting,
  };
}

interface Received extends Forwarded {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly isDelivery: boolean;
  /** A handshake of this program. */
  readonly isOwn: boolean;
}

/** Undefined for a body over the limit. */
async function receive(req: IncomingMessage, { pathname, searchParams }: URL): Promise<Received | undefined> {
  const { method = "", url = "", rawHeaders, headers } = req;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  const token = bytes === 0 ? searchParams.get("validationToken") : null;
  return {
    method,
    path: pathname,
    search: url.includes("?") ? url.slice(url.indexOf("?")) : "",
    rawHeaders,
    headers,
    body: Buffer.concat(chunks),
    isDelivery: method === "POST" && token === null,
    isOwn: token?.startsWith(OWN_TOKEN) === true,
  };
}

function causesOf401(request: Received, secret: string): readonly Mistake[] {
  const { mistakes } = explain(request, secret);
  return mistakes.length > 0 ? mistakes : [RIGHT_HERE];
}

const RIGHT_HERE: Mistake = {
  code: "signature-right",
  message: "The signature is right for SIGNING_SECRET as it is set here.",
  fix: "Give the app the same secret, and let it verify the bytes as they came, before any body parser.",
};

function causesOf(answer: AppAnswer | RequestFailure, answered: number): readonly Mistake[] {
  if ("code" in answer)
    return [{ code: answer.code, message: `No answer: ${answer.words}.`, fix: "See the app's log." }];
  const { status } = answer;
  if (status === 200) return [];
  const { cause, fix } = causeOfStatus(status, {});
  return [
    {
      code: `status-${status}`,
      message: cause,
      fix: status === answered ? fix : `${fix} --allow-unsubscribe lets it go on.`,
    },
  ];
}
