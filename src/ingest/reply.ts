import { isGoodToken } from "../protocol/handshake.ts";
import type { Decision } from "./unsubscribe-decision.ts";
import type { Reply } from "./types.ts";
import { REFUSALS } from "./responses.ts";
import type { Refused } from "./steps.ts";

/** When a 503 may be tried again, seconds. The service's own backoff decides; this is for whatever stands in between. */
const RETRY_AFTER_SECONDS = "10";

const NO_HEADERS: Reply["headers"] = Object.freeze({});
const KEPT: Reply = Object.freeze({ status: 200, headers: NO_HEADERS, body: "" });
const UNWANTED: Reply = Object.freeze({ status: 422, headers: NO_HEADERS, body: "" });
/** Never `text/html`: the token is whatever the URL says. */
const TOKEN_HEADERS: Reply["headers"] = Object.freeze({
  "Content-Type": "text/plain; charset=utf-8",
  "X-Content-Type-Options": "nosniff",
});

/** Row 14 of the table of answers. A good token beside a stored body is answered with the token. */
export function replyStored(token: string | undefined): Reply {
  return isGoodToken(token) ? replyToken(token) : KEPT;
}

/** Row 10: exactly the token. */
export function replyToken(token: string): Reply {
  return { status: 200, headers: TOKEN_HEADERS, body: token };
}

/** Row 12: the one way to a 422. It takes a decision, and nothing else is one. */
export function replyUnwanted(_decision: Decision): Reply {
  return UNWANTED;
}

/** All other rows. What is wrong stands in the log, never in the answer. */
export function replyRefused({ code }: Refused): Reply {
  const { status } = REFUSALS[code];
  if (status === 405) return { status, headers: { Allow: "POST" }, body: "" };
  if (status === 503) return { status, headers: { "Retry-After": RETRY_AFTER_SECONDS }, body: "" };
  return { status, headers: NO_HEADERS, body: "" };
}
