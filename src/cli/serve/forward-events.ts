import { GiveUp, HooklineError, isHooklineError, retryAfter, RetryLater } from "../../index.ts";
import type { AnyEvent, Context, EventName, Receiver } from "../../index.ts";
import { internalsOf } from "../../receiver/internals.ts";
import { toProblem } from "../../receiver/health/problem-catalog.ts";
import { toFailure, toSentence } from "../answers/request-failure.ts";
import { createAppClient, type AppAnswer } from "./app-client.ts";
import { toEventRequest } from "./event-request.ts";
import type { Forwarding, ForwardTarget } from "./forward-flags.ts";
import { guardLookup } from "./refused-addresses.ts";

/** An app that is down over a weekend gets its events afterwards. */
const RETRY_FOR_MS = 3 * 24 * 60 * 60 * 1_000;
/** An app that asks for more, by mistake, is asked again by then. */
const MOST_WAIT_SECONDS = 3_600;
/** While an app hangs, its other events wait so long, milliseconds, and up to twice as long. */
const HANGING_MS = 30_000;

/**
 * Hands each event to one app or several, instead of to handlers: each app is a consumer with jobs, retries and lanes of its own.
 *
 * @returns a function that ends idle connections
 */
export function forwardEvents(receiver: Receiver, forwarding: Forwarding): () => void {
  const { targets, only, timeoutMs, random = Math.random } = forwarding;
  const { clock, problemSources } = internalsOf(receiver);
  const apps = targets.map((target) => createApp(target, { ...forwarding, random, now: () => clock.now() }));
  const names: readonly EventName[] = only ?? ["*", "unknown"];
  for (const { name, forward } of apps)
    receiver.on(names, forward, { consumer: name, timeoutMs, retryForMs: RETRY_FOR_MS });
  problemSources.add(() => apps.flatMap(({ problem }) => problem() ?? []));
  return () => {
    for (const { close } of apps) close();
  };
}

interface AppOptions extends Forwarding {
  readonly random: () => number;
  readonly now: () => number;
}

function createApp({ name, url }: ForwardTarget, options: AppOptions) {
  const { concurrency, secrets, timeoutMs, allowLinkLocal, lookup, random, now } = options;
  const client = createAppClient({
    url,
    connections: concurrency,
    lookup: allowLinkLocal ? undefined : guardLookup(lookup),
  });
  /** Of the last request, unless it is done. */
  let failure: { readonly words: string; readonly since: number; readonly at: number } | undefined;
  let isHanging = false;
  let open = 0;

  function failed(words: string): void {
    failure = { words, since: failure?.since ?? now(), at: now() };
  }

  async function forward(event: AnyEvent, ctx: Context): Promise<void> {
    // Requests without an answer would fill all places, and other apps would wait behind them.
    if (isHanging && open > 0) throw new RetryLater({ afterMs: HANGING_MS * (1 + random()) });
    const { headers, body } = requestOf(event, ctx);
    open += 1;
    try {
      const answer = await client.post(headers, body, ctx.signal);
      isHanging = false;
      const error = errorOf(answer);
      if (error === undefined || error instanceof GiveUp) failure = undefined;
      else failed(`answered ${answer.status}`);
      if (error !== undefined) throw error;
    } catch (error) {
      throw isHooklineError(error) && error.code !== "forward-refused" ? error : unanswered(error, ctx.signal);
    } finally {
      open -= 1;
    }
  }

  function requestOf(event: AnyEvent, ctx: Context) {
    try {
      return toEventRequest(event, ctx, { secrets, now: now() });
    } catch (cause) {
      throw new GiveUp("The event cannot be written as JSON.", { cause }); // nested too deeply
    }
  }

  function unanswered(error: unknown, { aborted, reason }: AbortSignal): unknown {
    // The receiver closes, or the job was taken away: the app is not the cause.
    if (aborted && !isHooklineError(reason, "handler-timeout")) return reason;
    isHanging = aborted;
    const why = isHooklineError(error) ? error.message : toFailure(error, url).words;
    const words = aborted ? `gave no whole answer within ${timeoutMs / 1_000} s` : `gave no answer: ${why}`;
    failed(words);
    return new HooklineError("forward-failed", toSentence(`App "${name}" ${words}`));
  }

  /** What the answer means for the job; undefined: it is done. */
  function errorOf({ status, retryAfter: header }: AppAnswer): HooklineError | undefined {
    if (status >= 200 && status < 300) return undefined;
    const cause = new HooklineError("forward-failed", `App "${name}" answered ${status}.`);
    if (status === 410) return new GiveUp(cause.message);
    if ((status !== 429 && status !== 503) || header === undefined) return cause;
    const { when } = retryAfter(header);
    // It could not be read.
    if ("afterMs" in when) return cause;
    const seconds = "at" in when ? (when.at.getTime() - now()) / 1_000 : when.afterSeconds;
    return new RetryLater({ afterSeconds: Math.min(seconds, MOST_WAIT_SECONDS) }, { cause });
  }

  function problem() {
    if (failure === undefined) return undefined;
    const { words, since, at } = failure;
    const { origin, pathname } = new URL(url); // a query may have a token
    const [from, last] = [since, at].map((time) => new Date(time).toISOString());
    return toProblem("forward-failing", {
      detail: toSentence(`App "${name}" at ${origin}${pathname}: since ${from}, last at ${last}: it ${words}`),
    });
  }

  return { name, forward, problem, close: () => client.close() };
}
