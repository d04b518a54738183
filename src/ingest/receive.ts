import type { StoreResult } from "../inbox/port/delivery.ts";
import { isGoodToken, tokenOf } from "../protocol/handshake.ts";
import { admit } from "./admit.ts";
import type { AfterHandlers } from "./answer-option.ts";
import { checkHeaders } from "./check-headers.ts";
import { Decision } from "./unsubscribe-decision.ts";
import type { ReceivingParts } from "./parts.ts";
import type { RawRequest, Reply } from "./types.ts";
import { readBody } from "./read-body.ts";
import { replyStored, replyRefused, replyToken, replyUnwanted } from "./reply.ts";
import { Refused, type Admitted } from "./steps.ts";
import { verifySignature } from "./verify-signature.ts";

/**
 * The way of a request, in the order of the table of answers. Never rejects: whatever throws on the way, nothing was acknowledged.
 */
export async function receive(
  request: RawRequest,
  parts: ReceivingParts,
  answering: AfterHandlers | undefined,
): Promise<Reply> {
  const outcome = await decide(request, parts, answering).catch((error: unknown) => new Refused("internal", error));
  if (outcome instanceof Refused) {
    const reply = replyRefused(outcome);
    parts.reporter.refused(outcome, reply.status);
    return reply;
  }
  parts.reporter.answered(outcome.status);
  return outcome;
}

async function decide(
  request: RawRequest,
  parts: ReceivingParts,
  answering: AfterHandlers | undefined,
): Promise<Reply | Refused> {
  if (request.parsedBefore !== undefined) parts.reporter.parsedBefore(request.parsedBefore);
  const checked = checkHeaders(request, parts);
  if (checked instanceof Refused) return checked;
  const bytes = await readBody(checked, parts);
  if (bytes instanceof Refused) return bytes;
  const verified = await verifySignature(bytes, parts);
  if (verified instanceof Refused) return verified;
  const token = tokenOf(verified.url);
  // The query is not signed: beside a body it must not swallow the delivery.
  if (token !== undefined && verified.delivery.body.byteLength === 0)
    return isGoodToken(token) ? replyToken(token) : new Refused("token-bad");
  const admitted = await admit(verified, parts);
  if (admitted instanceof Refused) return admitted;
  if (admitted instanceof Decision) {
    parts.reporter.unwanted(verified, admitted);
    return replyUnwanted(admitted);
  }
  const safe = await (answering === undefined ? keep(admitted, parts) : parts.handleFirst(admitted, answering));
  return safe instanceof Refused ? safe : replyStored(token);
}

function keep(admitted: Admitted, { keeper, keeping }: ReceivingParts): Promise<StoreResult | Refused> {
  keeping();
  return keeper.store(admitted);
}
