import type { Clock } from "../../clock.ts";

/** A request as `fetch` takes it. */
export interface TextRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** An answer read to its end, or why there is none. */
export interface TextAnswer {
  /** 0 where not even the headers came. */
  readonly status: number;
  readonly headers?: Headers;
  readonly text: string;
  /** What `fetch` rejected with. */
  readonly failure?: unknown;
  /** The time limit that was reached. */
  readonly timedOutMs?: number | undefined;
}

interface FetchOptions {
  readonly fetch: typeof globalThis.fetch;
  /** Until the end of the answer. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends one request and reads its answer within the time limit, also where `fetch` ignores its signal. Redirects are not followed.
 *
 * @throws the signal's reason
 */
export async function fetchText(
  url: string,
  request: TextRequest,
  { fetch, timeoutMs, clock, signal }: FetchOptions,
): Promise<TextAnswer> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  let status = 0;
  let timedOutMs: number | undefined;
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(new Error("The request was aborted.")));
  });
  const abort = (): void => controller.abort();
  const timer = clock.setTimer(() => {
    timedOutMs = timeoutMs;
    abort();
  }, timeoutMs);
  signal?.addEventListener("abort", abort);

  async function exchange(): Promise<TextAnswer> {
    // A request that was redirected would take its content to another host. `error` is unknown to Cloudflare Workers.
    const response = await fetch(url, { ...request, redirect: "manual", signal: controller.signal });
    // A browser does not say which redirect it is: 0.
    status = response.status || 302;
    return { status, headers: response.headers, text: await response.text() };
  }

  try {
    return await Promise.race([exchange(), aborted]);
  } catch (failure) {
    signal?.throwIfAborted();
    return { status, text: "", failure, timedOutMs };
  } finally {
    timer.clear();
    signal?.removeEventListener("abort", abort);
  }
}
