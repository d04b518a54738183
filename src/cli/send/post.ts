import type { SignedDelivery } from "../../testing.ts";
import { LATE, toFailure, type Failure } from "../answers/request-failure.ts";

/** What became of one request. */
export type Outcome = Answer | { readonly failure: Failure } | { readonly stopped: true };

/** The answer, as far as it matters. */
export interface Answer {
  readonly status: number;
  /** Until the answer was here whole, milliseconds. */
  readonly ms: number;
  readonly contentType: string | undefined;
  /** Where a redirect leads to. */
  readonly location: string | undefined;
  /** Its first {@link MOST_BYTES}. */
  readonly body: string;
}

/** Longest wait for an answer. */
const LIMIT_MS = 10_000;

const MOST_BYTES = 65_536;

/** Sends one request over a connection that is stored for the next. Never rejects. */
export async function post({ method, url, headers, body }: SignedDelivery, stop: AbortSignal): Promise<Outcome> {
  const given = new AbortController();
  const giveUp = (): void => given.abort();
  const timer = setTimeout(() => given.abort(LATE), LIMIT_MS);
  stop.addEventListener("abort", giveUp);
  const begin = performance.now();
  try {
    const response = await fetch(url, {
      method,
      headers,
      body,
      redirect: "manual",
      signal: given.signal,
    });
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
    stop.removeEventListener("abort", giveUp);
  }
}

/** A body that is not read to its end would cost the connection; one without end must not be. */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MOST_BYTES) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}
