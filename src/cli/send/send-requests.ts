import { setTimeout as sleep } from "node:timers/promises";
import type { SignedDelivery } from "../../testing.ts";
import { ANSWER_TIMEOUT, toFailure, type RequestFailure } from "../answers/request-failure.ts";

/** The result of one request. */
export type Outcome = Answer | { readonly failure: RequestFailure } | { readonly stopped: true };

interface Answer {
  readonly status: number;
  /** Until the whole answer was received, milliseconds. */
  readonly ms: number;
  readonly contentType: string | undefined;
  /** Target of a redirect. */
  readonly location: string | undefined;
  /** Its first {@link MAX_BODY_BYTES}. */
  readonly body: string;
}

const ANSWER_LIMIT_MS = 10_000;
const MAX_BODY_BYTES = 65_536;

/** Sends one request over a connection that is kept alive for the next. Never rejects. */
export async function post({ method, url, headers, body }: SignedDelivery, stop: AbortSignal): Promise<Outcome> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(() => controller.abort(ANSWER_TIMEOUT), ANSWER_LIMIT_MS);
  stop.addEventListener("abort", abort);
  const begin = performance.now();
  try {
    const response = await fetch(url, { method, headers, body, redirect: "manual", signal: controller.signal });
    const text = await readText(response);
    return {
      status: response.status,
      ms: performance.now() - begin,
      contentType: response.headers.get("content-type") ?? undefined,
      location: response.headers.get("location") ?? undefined,
      body: text,
    };
  } catch (error) {
    return stop.aborted ? { stopped: true } : { failure: toFailure(error, url) };
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", abort);
  }
}

/** Read to its end, because the connection is lost otherwise; but not a body without end. */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MAX_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** How many requests, and how fast. */
export interface SendPlan {
  readonly count: number;
  /** In flight at once. */
  readonly concurrency: number;
  /** Per second; `undefined` for no limit. */
  readonly rate: number | undefined;
}

/** Sends all requests, or those that begin before the stop; resolves when the last one ended. */
export async function sendMany(
  { count, concurrency, rate }: SendPlan,
  sendOne: (nth: number) => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const nextDelay = createPacer(rate);
  let begun = 0;

  async function work(): Promise<void> {
    while (begun < count && !stop.aborted) {
      begun += 1;
      const nth = begun;
      const ms = nextDelay(performance.now());
      // It rejects at the stop, which is checked below.
      if (ms > 0) await sleep(ms, undefined, { signal: stop }).catch(() => {});
      if (stop.aborted) return;
      await sendOne(nth);
    }
  }

  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, work));
}

/** Most of a delay that is caught up on: a target that hung is not flooded afterwards. */
const MAX_CATCH_UP_MS = 100;

/**
 * Spreads requests evenly over time.
 *
 * @param perSecond `undefined` for no limit
 * @returns takes the present time in milliseconds, gives how long the next request has to wait
 */
export function createPacer(perSecond: number | undefined): (now: number) => number {
  if (perSecond === undefined) return () => 0;
  let due: number | undefined;
  return (now) => {
    due = Math.max(due ?? now, now - MAX_CATCH_UP_MS);
    const wait = Math.max(due - now, 0);
    due += 1_000 / perSecond;
    return wait;
  };
}
