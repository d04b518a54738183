import { appendFile } from "node:fs/promises";
import http, { type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import https from "node:https";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { readBodyNode } from "../../../adapters/http/shared/read-body-node.ts";
import { eventsOf, parseDocument } from "../../protocol/envelope.ts";
import { explain, type Mistake } from "../../signature.ts";
import { toFailure, type RequestFailure } from "../answers/request-failure.ts";
import { toJsonLine } from "../terminal/escape-terminal.ts";

/** A request that was forwarded to the app once, and what came back. */
export interface Passed {
  readonly at: Date;
  readonly path: string;
  /** Names in the order of the body. */
  readonly events: readonly string[];
  /** The app's; undefined where it gave no answer. */
  readonly status: number | undefined;
  /** What the service got. */
  readonly answered: number;
  /** Until the head of the app's answer. */
  readonly ms: number;
  /** Of a 401, and of an answer that did not come. */
  readonly causes: readonly Mistake[];
  /** Seconds until the app gets it again, of one that is held. */
  readonly againInSeconds: number | undefined;
}

/** As the flags of the command. */
interface PassThroughOptions {
  /** The app's route. */
  readonly to: URL;
  readonly secret: string;
  readonly run: string;
  readonly allowUnsubscribe: boolean;
  readonly hold: boolean;
  readonly capture: string | undefined;
  /** Called with each request to the app, but for handshakes of this program. */
  readonly onPassed: (passed: Passed) => void;
  readonly note: (text: string) => void;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** Query parameter of a request that asks whether a URL leads to a run. */
export const RUN_PARAMETER = "hookline-dev";
/** What tokens of this program's own handshakes begin with. */
export const OWN_TOKEN = "hookline-dev-";
const MAX_BODY_BYTES = 64 * 1_024 ** 2;
/** After the first attempt of a held delivery; it doubles. */
const FIRST_REPEAT_SECONDS = 1;
const MOST_REPEAT_SECONDS = 30;

/** A server between the service and the app, which changes no byte of a body. */
export function createPassThrough(options: PassThroughOptions) {
  const { to, secret, run, allowUnsubscribe, hold, capture, onPassed, note, signal } = options;
  const captured = new Set<unknown>();
  let waiting = 0;

  /** Sends a request to the app, and reports it. */
  async function pass(request: Received, againInSeconds?: number) {
    const { path, body, token } = request;
    const begin = performance.now();
    const answer = await forward(request, to, signal);
    const status = "code" in answer ? undefined : answer.statusCode;
    const answered = status === 422 && !allowUnsubscribe ? 503 : (status ?? 502);
    if (!token?.startsWith(OWN_TOKEN) && !signal.aborted)
      onPassed({
        at: new Date(),
        path,
        events: isDelivery(request) ? eventsOf(parseDocument(body)).map(({ type }) => type) : ["handshake"],
        status,
        answered: againInSeconds === undefined ? answered : 200,
        ms: performance.now() - begin,
        causes: causesOf(answer, request, secret),
        againInSeconds: status === 200 ? undefined : againInSeconds,
      });
    return { answer, status, answered };
  }

  async function repeat(request: Received): Promise<void> {
    for (let seconds = FIRST_REPEAT_SECONDS; !signal.aborted; seconds = Math.min(seconds * 2, MOST_REPEAT_SECONDS)) {
      const { answer, status } = await pass(request, seconds);
      if (!("code" in answer)) answer.on("error", () => {}).resume();
      if (status === 200) return;
      await sleep(seconds * 1_000, undefined, { signal }).catch(() => {});
    }
  }

  /** @returns whether it is in the file */
  async function store({ req: { method, url, headers }, body }: Received): Promise<boolean> {
    const signature = headers["x-aurinko-signature"];
    // A redelivery with the same signature is the same delivery.
    if (capture === undefined || captured.has(signature)) return true;
    const line = { receivedAt: new Date(), method, url, headers, bodyBase64: body.toString("base64") };
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
    const [path = "", ...search] = (req.url ?? "").split("?");
    const query = new URLSearchParams(search.join("?"));
    if (query.get(RUN_PARAMETER) === run) return void res.end(run);
    // Whoever finds the public URL of a tunnel reaches one route, not the whole app.
    if (path !== to.pathname) return void res.writeHead(404).end();
    const body = Buffer.from(await readBodyNode(req, { maxBytes: MAX_BODY_BYTES, signal }));
    const request = { req, path, body, token: body.length === 0 ? query.get("validationToken") : null };
    const isStored = !isDelivery(request) || (await store(request));
    // A forged one would be repeated for ever.
    if (hold && isDelivery(request) && explain({ headers: req.headers, body }, secret).mistakes.length === 0) {
      res.writeHead(isStored ? 200 : 503).end();
      return isStored ? repeat(request) : undefined;
    }
    const { answer, answered } = await pass(request);
    if ("code" in answer) return void res.writeHead(answered).end(answer.words);
    res.sendDate = false;
    res.writeHead(answered, headersWithout(answer, "transfer-encoding"));
    await pipeline(answer, res);
  }

  const listener: RequestListener = (req, res) => {
    waiting += 1;
    void handle(req, res)
      .catch((error: unknown) => {
        res.destroy();
        if (!signal.aborted) note(`A request was cut off: ${(error as Error).message}`);
      })
      // What the end interrupts stays counted.
      .finally(() => (waiting -= signal.aborted ? 0 : 1));
  };
  return {
    listener,
    /** Requests that the app has not answered, and held ones that it has not accepted. */
    waiting: () => waiting,
  };
}

interface Received {
  readonly req: IncomingMessage;
  readonly path: string;
  readonly body: Buffer;
  /** Of a handshake. */
  readonly token: string | null;
}

function isDelivery({ req, token }: Received): boolean {
  return req.method === "POST" && token === null;
}

/** Sends the same bytes over a connection of their own; only `Host` is the app's. Never rejects. */
function forward({ req, body }: Received, to: URL, signal: AbortSignal): Promise<IncomingMessage | RequestFailure> {
  const { request } = to.protocol === "https:" ? https : http;
  const headers = ["Host", to.host, ...headersWithout(req, "host")];
  return new Promise((resolve) => {
    request(to, { method: req.method, path: req.url, headers, agent: false, signal }, resolve)
      .on("error", (error) => resolve(toFailure(error, to.href)))
      .end(body);
  });
}

/** Headers that are about one connection. `Expect` was answered on the one that it came on. @see RFC 9110, 7.6.1 */
const OF_CONNECTION = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "expect"];

/** Names and values in turn, in their order and spelling, without one more. */
function headersWithout({ rawHeaders }: IncomingMessage, more: string): string[] {
  const without = new Set([...OF_CONNECTION, more]);
  return rawHeaders.filter((_, at) => !without.has((rawHeaders[at - (at % 2)] ?? "").toLowerCase()));
}

function causesOf(answer: IncomingMessage | RequestFailure, request: Received, secret: string): readonly Mistake[] {
  if ("code" in answer)
    return [{ code: answer.code, message: `No answer: ${answer.words}.`, fix: "See the app's log." }];
  if (answer.statusCode !== 401) return [];
  const { mistakes } = explain({ headers: request.req.headers, body: request.body }, secret);
  return mistakes.length > 0 ? mistakes : [RIGHT_HERE];
}

const RIGHT_HERE: Mistake = {
  code: "signature-right",
  message: "The signature is right for SIGNING_SECRET as it is set here.",
  fix: "Give the app the same secret, and let it verify the bytes as they came, before any body parser.",
};
