import { BadRequest } from "../client.ts";
import { fixOf, HooklineError } from "../errors.ts";
import type { Receiver } from "../index.ts";
import { REFUSALS } from "../ingest/refusals.ts";
import type { AnsweredHandshake } from "../receiver/handshake-listeners.ts";
import { internalsOf } from "../receiver/internals.ts";
import { describe, type Desired } from "./desired.ts";

/** Verification requests that a receiver answers while a subscription is created. */
export interface HeardHandshakes {
  /** The last one for the subscription's URL; not those with the token of a {@link tryUrl}. */
  last(): AnsweredHandshake | undefined;
  /** Whether one with this token came. */
  has(token: string): boolean;
  end(): void;
}

export function hearHandshakes(receiver: Receiver | undefined, notificationUrl: string): HeardHandshakes | undefined {
  if (receiver === undefined) return undefined;
  const { handshakes } = internalsOf(receiver);
  const { pathname } = new URL(notificationUrl);
  const heard: AnsweredHandshake[] = [];
  const listener = (handshake: AnsweredHandshake): void => void heard.push(handshake);
  handshakes.add(listener);
  return {
    // A proxy may have taken the beginning of the path away. Other subscriptions may be created at the same time.
    last: () => heard.findLast(({ path, token }) => pathname.endsWith(path) && !token.startsWith(TRY_PREFIX)),
    has: (token) => heard.some((one) => one.token === token),
    end: () => handshakes.delete(listener),
  };
}

/**
 * Why the service refused to create a subscription: nearly always the verification request, which it sends meanwhile. What the receiver
 * answered says most; where it heard nothing, this machine tries the URL.
 *
 * @see protocol 6.1
 */
export async function explainRefusal(
  error: unknown,
  desired: Desired,
  heard: HeardHandshakes | undefined,
): Promise<unknown> {
  if (!(error instanceof BadRequest)) return error;
  const { found, fix } = explainHeard(heard?.last()) ?? (await explainUnheard(desired.notificationUrl, heard));
  const code = error.serviceCode === undefined ? "" : ` (${error.serviceCode})`;
  return new HooklineError(
    "subscription-not-created",
    `The service refused ${describe(desired)} with 400${code}. ${found}`,
    { fix, cause: error },
  );
}

interface Finding {
  readonly found: string;
  readonly fix: string;
}

function explainHeard(heard: AnsweredHandshake | undefined): Finding | undefined {
  if (heard === undefined) return undefined;
  const { path, status, refused } = heard;
  const answered = `This receiver answered the verification request at ${path} with ${status}`;
  if (refused === undefined)
    return {
      found: `${answered} and its token, as it should: the service got something else, got it after more than 30 s, or refused for another reason.`,
      fix: "Check that no proxy changes the answer, and the resource; `error.cause.serviceMessage` has the service's words.",
    };
  const { message, fix } = REFUSALS[refused.code];
  return { found: `${answered} (${refused.code}): ${message}`, fix: fixOf(refused.cause) ?? fix };
}

async function explainUnheard(url: string, heard: HeardHandshakes | undefined): Promise<Finding> {
  const unheard = heard === undefined ? "" : "No verification request reached this receiver. ";
  const token = `${TRY_PREFIX}${crypto.randomUUID()}`;
  const tried = await tryUrl(url, token);
  if ("failure" in tried)
    return {
      found: `${unheard}From this machine the URL cannot be reached either: ${tried.failure}.`,
      fix: "If it is this program's own URL, create subscriptions after its server listens; else check the host, the port and the proxy in front.",
    };
  const answered = `From this machine the URL answers ${tried.status} to a request without a signature`;
  if (heard?.has(token) === true)
    return {
      found: `${unheard}${answered}, and that is this receiver: so the service cannot reach it.`,
      fix: "Give it a public URL, and check what stands in front: DNS, firewall, tunnel, allow-list.",
    };
  return {
    found: `${unheard}${answered}${tried.status === 401 ? ", as a receiver does" : ", where a receiver answers 401"}.`,
    fix: "Check the path, the signing secret of the program there, and which program it is: `npx hookline check --to <url>` asks it all that matters.",
  };
}

const TRY_MS = 5_000;
const TRY_PREFIX = "hookline-try-";

/** Asks as a verification request without a signature: a receiver refuses it, and is heard. */
async function tryUrl(
  notificationUrl: string,
  token: string,
): Promise<{ readonly status: number } | { readonly failure: string }> {
  const url = new URL(notificationUrl);
  url.searchParams.set("validationToken", token);
  try {
    const response = await fetch(url, { method: "POST", redirect: "manual", signal: AbortSignal.timeout(TRY_MS) });
    await response.body?.cancel();
    return { status: response.status };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** `fetch` throws a TypeError that says nothing; its cause has Node's code. */
function failureOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") return `no answer within ${TRY_MS / 1_000} s`;
  let cause: unknown = error;
  while (cause instanceof Error) {
    if ("code" in cause && typeof cause.code === "string") return cause.code;
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return "the connection failed";
}
