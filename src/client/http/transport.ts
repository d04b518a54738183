import type { Clock } from "../../clock.ts";
import { parseRetryAfter } from "../../retry-after.ts";
import { meaningOf, ServiceError, type ServiceErrorFacts } from "../errors.ts";
import { AnswerProblem, type Reader } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";
import { fetchText, type TextAnswer } from "./fetch-text.ts";
import { limited } from "./rate-limit.ts";
import { isRepeatable, mayRetry, resolveRetry, retryDelayMs } from "./retry.ts";
import { sleep } from "./sleep.ts";
import { fillPath, toSearch, type PathParams, type Query } from "./url.ts";

/** One call of the service. */
interface Call<T> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | (string & Record<never, never>);
  /** As the protocol writes it, with the names of its parameters in braces: this is what messages show. */
  readonly path: string;
  readonly params?: PathParams;
  /** What follows it as it is, and is not shown. */
  readonly rest?: string;
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether to send it twice does no harm. @default true for GET, HEAD, PUT and DELETE */
  readonly repeatable?: boolean;
  /** Reads what a successful answer has. */
  readonly read: Reader<T>;
  /** The status says it all: an answer that is cut off or cannot be read counts as an empty one. @default false */
  readonly answerOptional?: boolean;
  /** Accepted instead of JSON. */
  readonly accept?: string;
  /** What to do about a status, where it is not the usual. */
  readonly fixes?: Readonly<Record<number, string>>;
  readonly options?: RequestOptions | undefined;
}

/** Makes a call, with its retries. */
export type Send = <T>(call: Call<T>) => Promise<T>;

/** Who calls: the header, and what of it must never be shown. */
export interface Credentials {
  readonly authorization: string;
  readonly secret: string;
}

export interface TransportOptions {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Asked before each attempt: a token may be replaced meanwhile. */
  readonly credentials: () => Promise<Credentials | undefined>;
  /** They are those of one account. @default false */
  readonly ofAccount?: boolean | undefined;
  readonly defaults: RequestOptions;
  readonly fetch: typeof globalThis.fetch;
  /** Calls that start in any second. */
  readonly perSecond: number;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Sends calls of one account. */
export function createTransport({ defaults, clock, random, ...connection }: TransportOptions): Send {
  async function attempt<T>(call: Call<T>, url: string, signal: AbortSignal | undefined): Promise<T> {
    const credentials = await connection.credentials();
    const timeoutMs = call.options?.timeoutMs ?? defaults.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const request = {
      method: call.method,
      headers: {
        Accept: call.accept ?? "application/json",
        ...(call.body !== undefined && { "Content-Type": "application/json" }),
        ...call.headers,
        ...(credentials && { Authorization: credentials.authorization }),
      },
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    };
    const limit = { perSecond: connection.perSecond, signal };
    const answer = await limited(`${connection.baseUrl} ${credentials?.secret}`, limit, () =>
      fetchText(url, request, { fetch: connection.fetch, timeoutMs, clock, signal }),
    );
    const isSuccess = answer.status >= 200 && answer.status <= 299;
    if (answer.failure !== undefined && !(isSuccess && call.answerOptional === true)) throw noAnswer(call, answer);
    if (!isSuccess) {
      const { ofAccount } = connection;
      throw refusal(call, answer, { clock, ofAccount, secret: credentials?.secret });
    }
    return readAnswer(call, answer);
  }

  return async (call) => {
    const url = connection.baseUrl + fillPath(call.path, call.params) + (call.rest ?? "") + toSearch(call.query);
    const signal = anyOf(defaults.signal, call.options?.signal);
    const { attempts, budgetMs } = resolveRetry(call.options?.retry ?? defaults.retry);
    const begunAt = clock.now();
    let mayBeDone = false;
    for (let nth = 1; ; nth += 1) {
      try {
        return await attempt(call, url, signal);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        // What an earlier attempt has deleted is not there any more.
        if (call.method === "DELETE" && error.status === 404 && mayBeDone) return call.read(undefined);
        mayBeDone ||= isOpen(error.status);
        const waitMs = retryDelayMs(nth, error, random());
        const isOver = nth >= attempts || clock.now() + waitMs - begunAt > budgetMs;
        if (isOver || !mayRetry(call, error)) throw error;
        await sleep(waitMs, { clock, signal });
      }
    }
  };
}

/** Whether the service may have carried out a request that it answered so. */
function isOpen(status: number): boolean {
  return status < 400 || status === 408 || status >= 500;
}

function nameOf({ method, path }: Call<unknown>): string {
  return `${method} ${path}`;
}

/** @param facts the rest of what is known */
function toError(
  call: Call<unknown>,
  code: string,
  facts: ServiceErrorFacts & { readonly text: string },
): ServiceError {
  const { type } = meaningOf(facts.status);
  const outcomeUnknown = !isRepeatable(call) && isOpen(facts.status);
  return new type(code, `${nameOf(call)}: ${facts.text}`, { ...facts, outcomeUnknown });
}

function noAnswer(call: Call<unknown>, { failure, timedOutMs }: TextAnswer): ServiceError {
  if (timedOutMs !== undefined)
    return toError(call, "service-timeout", {
      status: 0,
      text: `no answer within ${timedOutMs} ms.`,
      fix: "Raise `timeoutMs` if the service needs longer.",
    });
  const code = (failure as { readonly cause?: { readonly code?: unknown } } | null)?.cause?.code;
  const why = typeof code === "string" ? ` (${code})` : "";
  return toError(call, "service-unreachable", {
    status: 0,
    text: `no answer came${why}.`,
    cause: failure,
    fix: "Look at `baseUrl`, and whether the service can be reached from here.",
  });
}

function refusal(
  call: Call<unknown>,
  { status, headers, text }: TextAnswer,
  { clock, ofAccount, secret }: Pick<TransportOptions, "clock" | "ofAccount"> & { readonly secret: string | undefined },
): ServiceError {
  const { code, message, requestId } = bodyOf(text);
  const { code: own, fix } = meaningOf(status);
  const shown = [code, requestId && `request ${requestId}`].filter((part) => part !== undefined);
  const facts = shown.length === 0 ? "" : ` (${shown.join(", ")})`;
  const serviceMessage = secret === undefined ? message : message?.replaceAll(secret, "***");
  return toError(call, own, {
    status,
    serviceCode: code,
    serviceMessage,
    requestId,
    ofAccount,
    retryAfterMs: retryAfterMs(headers?.get("retry-after"), clock),
    text: `the service answered ${status}${facts}.`,
    fix: call.fixes?.[status] ?? fix,
  });
}

function readAnswer<T>(call: Call<T>, { status, text }: TextAnswer): T {
  try {
    if (call.accept === "text/plain") return call.read(text);
    return call.read(text.trim() === "" ? undefined : JSON.parse(text));
  } catch (error) {
    if (!(error instanceof AnswerProblem) && !(error instanceof SyntaxError)) throw error;
    if (call.answerOptional === true) return call.read(undefined);
    const problem = error instanceof AnswerProblem ? error.message : "it is no JSON";
    throw toError(call, "service-answer-invalid", {
      status,
      text: `the answer (${status}) cannot be read: ${problem}.`,
      fix: "Check that `baseUrl` leads to the service; `client.request` gives any JSON as it came.",
    });
  }
}

/** An error's body: `{ code, message, requestId }`, or anything. */
function bodyOf(text: string): Readonly<Record<"code" | "message" | "requestId", string | undefined>> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Not the service's own, such as a proxy's page.
  }
  const fieldOf = (name: string): string | undefined => {
    const value: unknown =
      typeof json === "object" && json !== null ? (json as Record<string, unknown>)[name] : undefined;
    return typeof value === "string" ? value : undefined;
  };
  return { code: plain(fieldOf("code")), message: fieldOf("message"), requestId: plain(fieldOf("requestId")) };
}

/** A code or an id may be shown; anything longer or stranger may be content. */
function plain(text: string | undefined): string | undefined {
  return text !== undefined && /^[\w.:-]{1,64}$/.test(text) ? text : undefined;
}

function retryAfterMs(header: string | null | undefined, clock: Clock): number | undefined {
  const after = parseRetryAfter(header);
  if (after === undefined) return undefined;
  return "at" in after ? Math.max(after.at.getTime() - clock.now(), 0) : after.afterSeconds * 1_000;
}

function anyOf(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  return a === undefined || b === undefined ? (a ?? b) : AbortSignal.any([a, b]);
}
