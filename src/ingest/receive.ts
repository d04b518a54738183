import { isGoodToken, TOKEN_HEADERS, tokenOf } from "../protocol/handshake.ts";
import type { StoreResult } from "../inbox/port/delivery.ts";
import type { AfterHandlers } from "./after-handlers.ts";
import { checkHeaders } from "./check-headers.ts";
import { admit } from "./check-wanted.ts";
import { readBody } from "./body-limits.ts";
import { Refused, replyRefused } from "./refusals.ts";
import type { Admitted, IngestDeps, RawRequest, Read, Reply } from "./types.ts";
import { Decision } from "./unsubscribe-gate.ts";
import { verifySignature } from "./verify-signature.ts";

/** One request to its answer, in the order of the table of answers. Never rejects: an unexpected error is answered 503. */
export async function receive(
  request: RawRequest,
  deps: IngestDeps,
  afterHandlers: AfterHandlers | undefined,
): Promise<Reply> {
  const startedAt = performance.now();
  const outcome = await decide(request, deps, afterHandlers).catch((error: unknown) => new Refused("internal", error));
  const isRefused = outcome instanceof Refused;
  const reply = isRefused ? replyRefused(outcome) : outcome;
  if (isRefused) deps.reporter.refused(outcome, reply.status);
  deps.reporter.answered(reply.status, startedAt, isRefused ? outcome.code : undefined);
  return reply;
}

async function decide(
  request: RawRequest,
  deps: IngestDeps,
  given: AfterHandlers | undefined,
): Promise<Reply | Refused> {
  // Anything else than these options must not keep a delivery from being stored.
  const afterHandlers = given?.answer === "after-handlers" ? given : undefined;
  if (request.parsedBefore !== undefined) deps.reporter.parsedBefore(request.parsedBefore);
  const checked = checkHeaders(request, deps);
  if (checked instanceof Refused) return checked;
  const read = await readBody(checked, deps);
  if (read instanceof Refused) return read;
  const { tracer } = deps.instruments;
  try {
    return await (tracer === undefined || (read.body.byteLength === 0 && tokenOf(request.url) !== undefined)
      ? verifyAndStore(read, deps, afterHandlers)
      : tracer.request((carrier) => verifyAndStore({ ...read, carrier }, deps, afterHandlers)));
  } finally {
    read.release();
  }
}

async function verifyAndStore(
  read: Read,
  deps: IngestDeps,
  afterHandlers: AfterHandlers | undefined,
): Promise<Reply | Refused> {
  const verifying = verifySignature(read, deps);
  const verified = verifying instanceof Promise ? await verifying : verifying;
  if (verified instanceof Refused) return verified;
  const token = tokenOf(verified.url);
  // Only without a body: the query is not signed, so a token in it must not swallow a delivery.
  if (token !== undefined && verified.delivery.body.byteLength === 0)
    return isGoodToken(token) ? replyToken(token) : new Refused("token-bad");
  const { carrier } = read;
  Object.assign(verified.delivery.headers, carrier?.headers);
  const admitting = admit(verified, deps);
  const admitted = admitting instanceof Promise ? await admitting : admitting;
  if (admitted instanceof Decision) {
    deps.reporter.unwanted(verified, admitted);
    return replyUnwanted(admitted);
  }
  read.release(); // storing and handling reserve them again at once, and may take longer than the answer
  const result = admitted instanceof Refused ? admitted : await storeOrHandle(admitted, deps, afterHandlers);
  if (carrier && result && "id" in result) carrier.deliveryId = result.id;
  // What handlers refuse, they want to have again.
  if (afterHandlers === undefined) deps.outcomes[result instanceof Refused ? "refused" : "stored"](verified);
  return result instanceof Refused ? result : replyStored(token);
}

function storeOrHandle(
  admitted: Admitted,
  deps: IngestDeps,
  afterHandlers: AfterHandlers | undefined,
): Promise<StoreResult | Refused | undefined> {
  return afterHandlers === undefined ? deps.store(admitted) : deps.handleThenAnswer(admitted, afterHandlers);
}

const NO_HEADERS: Reply["headers"] = Object.freeze({});
const STORED: Reply = Object.freeze({ status: 200, headers: NO_HEADERS, body: "" });
const UNWANTED: Reply = Object.freeze({ status: 422, headers: NO_HEADERS, body: "" });
/** Row 14 of the table of answers. A good token beside a stored body is echoed. */
function replyStored(token: string | undefined): Reply {
  return isGoodToken(token) ? replyToken(token) : STORED;
}

/** Row 10: exactly the token. */
function replyToken(token: string): Reply {
  return { status: 200, headers: TOKEN_HEADERS, body: token };
}

/** Row 12: the only way to a 422. */
function replyUnwanted(_decision: Decision): Reply {
  return UNWANTED;
}
