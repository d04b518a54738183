import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import type { TrackedMessage } from "../../accounts/tracking.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, type Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { flag, OK, OK_ANSWER } from "../schemas.ts";
import { draftOf, preparedOf } from "./drafts.ts";
import { messagesOf } from "./messages.ts";
import { OUT_TRACKING, pictureOf } from "./send-message.ts";

const PATH = "/v1/email/draftTracking";
const PREPARED = z.looseObject({
  trackReplies: z.boolean(),
  htmlBody: z.string(),
  trackingCode: z.string(),
  context: z.string().optional(),
  linkCodes: z.array(z.looseObject({})),
  trackingId: z.string(),
});
const CONVERT = z.object({
  threadId: z.string().optional(),
  messageId: z.string().optional(),
  internetMessageId: z.string().optional(),
});

/** Tracking of drafts that another program writes and sends. @see service's public description, email/draftTracking */
export function draftTrackingRoutes(service: EmulatedService): readonly Route[] {
  const operation = operationsOf({
    tag: "Draft tracking",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });

  return [
    operation({
      method: "POST",
      path: `${PATH}/create`,
      summary: "Puts tracking into the HTML of a draft.",
      query: z.object({ draftId: z.string().min(1), ignoreNotFound: flag(false) }),
      body: z.object({ htmlText: z.string().default(""), tracking: OUT_TRACKING }),
      answer: PREPARED,
      errors: [404],
      run({ caller, query, body: { htmlText, tracking = {} } }) {
        if (!query.ignoreNotFound) draftOf(caller, query.draftId);
        const tracked = caller.tracking.prepare(query.draftId, tracking);
        return {
          trackReplies: tracking.threadReplies ?? false,
          htmlBody: htmlText + pictureOf(service, tracked),
          trackingCode: tracked.trackingCode,
          context: tracking.context,
          linkCodes: [],
          trackingId: String(tracked.trackingId),
        };
      },
    }),
    operation({
      method: "PATCH",
      path: `${PATH}/:draftId/convert`,
      summary: "Tells that a draft was sent as this message: its tracking begins.",
      body: CONVERT,
      answer: OK_ANSWER,
      causes: "tracking.initial",
      errors: [404],
      run({ caller, body, param }) {
        const tracked = trackedDraftOf(caller, param("draftId"));
        const message = [...messagesOf(caller).records.values()].find(
          ({ id, internetMessageId }) =>
            id === body.messageId || (internetMessageId !== undefined && internetMessageId === body.internetMessageId),
        );
        const { messageId: id, ...ids } = body;
        caller.tracking.begin(tracked, message ?? { id, ...ids });
        return OK;
      },
    }),
    operation({
      method: "PATCH",
      path: `${PATH}/:draftId`,
      summary: "Changes the context of a draft's tracking.",
      body: z.object({ context: z.string().optional() }),
      answer: OK_ANSWER,
      errors: [404],
      run({ caller, body, param }) {
        const tracked = trackedDraftOf(caller, param("draftId"));
        tracked.options = { ...tracked.options, ...body };
        return OK;
      },
    }),
  ];
}

/** @throws ApiError 404 */
function trackedDraftOf(account: Account, draftId: string): TrackedMessage {
  const tracked = preparedOf(account, draftId);
  if (tracked !== undefined) return tracked;
  throw new ApiError(404, "not_found", `There is no tracking of a draft ${JSON.stringify(draftId)}.`);
}
