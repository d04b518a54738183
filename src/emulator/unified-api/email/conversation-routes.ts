import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import { labelsOf } from "../../accounts/labels.ts";
import type { MailboxRecord } from "../../accounts/mailbox.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, type Route } from "../../http/routes.ts";
import { accountOf, assertReachable, reachableAccountOf } from "../authenticate.ts";
import { MESSAGE, toView } from "./message-view.ts";
import { messagesOf, newestFirst, pageOfViews } from "./messages.ts";
import { bodyType, flag, pageSchema, pageToken } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const CONVERSATION = z.object({ pageToken, bodyType });
const FOLLOW_UP = z.object({ bodyType, skipMailboxCheck: flag(false) });
/** @see protocol 2.1, where the shape is not shown */
const STATUS = z.looseObject({
  lastSentEmail: MESSAGE.nullable(),
  followup: z.null(),
  mailboxError: z.null(),
  followupError: z.null(),
});

/** Conversations of an account. @see protocol 4.1 */
export function conversationRoutes(service: EmulatedService, { pageSize }: UnifiedOptions): readonly Route[] {
  const group = { tag: "Conversations", auth: "bearer" } as const;
  const operation = operationsOf({ ...group, caller: (context) => reachableAccountOf(service, context) });
  const withoutMailbox = operationsOf({ ...group, caller: (context) => accountOf(service, context) });

  return [
    operation({
      method: "GET",
      path: "/v1/email/conversations/:threadId",
      summary: "Lists the messages of a conversation, the newest first.",
      query: CONVERSATION,
      answer: pageSchema(MESSAGE),
      errors: [404],
      run({ caller: account, query, param }) {
        const threadId = param("threadId");
        const request = { list: `conversation ${threadId}`, pageToken: query.pageToken, pageSize };
        const view = { account, bodyType: query.bodyType, now: service.clock.now() };
        return pageOfViews(conversationOf(account, threadId), request, view);
      },
    }),
    withoutMailbox({
      method: "GET",
      path: "/v1/email/conversations/:threadId/followup",
      summary: "Gets the state of a conversation's follow-up.",
      query: FOLLOW_UP,
      answer: STATUS,
      errors: [404],
      run({ caller, query, param }) {
        const nothing = { lastSentEmail: null, followup: null, mailboxError: null, followupError: null };
        if (query.skipMailboxCheck) return nothing;
        assertReachable(caller);
        const messages = conversationOf(caller, param("threadId"));
        const sent = messages.find(([, message]) => labelsOf(message).includes("sent"))?.[1];
        if (sent === undefined) return nothing;
        return {
          ...nothing,
          lastSentEmail: toView(sent, { account: caller, bodyType: query.bodyType, now: service.clock.now() }),
        };
      },
    }),
  ];
}

/** @throws ApiError 404 */
function conversationOf(account: Account, threadId: string): readonly (readonly [number, MailboxRecord])[] {
  const found = newestFirst(messagesOf(account), (message) => message["threadId"] === threadId);
  if (found.length > 0) return found;
  throw new ApiError(404, "not_found", `There is no conversation ${JSON.stringify(threadId)}.`);
}
