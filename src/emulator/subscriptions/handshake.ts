import type { Clock } from "../../clock.ts";
import type { Answer } from "../deliveries/journal.ts";
import type { Transport } from "../deliveries/transport.ts";
import type { Random } from "../random.ts";
import { signRequest } from "../wire/sign-request.ts";

/** What a handshake needs. */
export interface HandshakeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly secret: string;
  readonly transport: Transport;
}

/** The service waits so long. @see protocol 6.1, where it is "not shown"; the public guide says 30 s */
const LIMIT_MS = 30_000;

/**
 * Asks a receiver to prove that it is one: a signed request without a body, whose answer must be the token of its query.
 *
 * @returns what is wrong with the answer, undefined if nothing is
 * @see protocol 6.1
 */
export async function handshake(
  url: URL,
  { clock, random, secret, transport }: HandshakeDeps,
): Promise<string | undefined> {
  // A colon and a plus come back only from a receiver that decodes the query once.
  const token = `${random.uuid()}_${new Date(clock.now()).toISOString().replace("Z", "+00:00")}`;
  const target = new URL(url);
  target.searchParams.append("validationToken", token);
  const timeout = new AbortController();
  const timer = clock.setTimer(() => timeout.abort(new Error(`no answer in ${LIMIT_MS / 1_000} s`)), LIMIT_MS);
  const body = new Uint8Array(0);
  try {
    const answer = await transport.send({
      url: target.href,
      headers: {
        "Content-Type": "text/plain; charset=utf-8",
        ...signRequest(body, { secret, at: new Date(clock.now()) }),
      },
      body,
      signal: timeout.signal,
    });
    return flawOf(answer, token);
  } catch (error) {
    return `${url.href} was asked with the verification request, and there was no answer: ${(error as Error).message}`;
  } finally {
    timer.clear();
  }
}

const SHOWN_CHARACTERS = 120;

function flawOf({ status, body }: Answer, token: string): string | undefined {
  if (status === 200 && body === token) return undefined;
  const shown = JSON.stringify(body.length > SHOWN_CHARACTERS ? `${body.slice(0, SHOWN_CHARACTERS)}...` : body);
  const expected = "The answer must be 200 and, as text/plain, exactly the value of validationToken.";
  return `The answer to the verification request was ${status} with the body ${shown}, and the token was ${token}. ${expected}`;
}
