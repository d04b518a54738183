import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import { labelsOf } from "../../accounts/labels.ts";
import type { MailboxRecord } from "../../accounts/mailbox.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, type Route } from "../../http/routes.ts";
import { ATTACHMENT_CONTENT, contentOf } from "../attachments.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { MESSAGE, threadKnownInMs, toRaw, toView } from "./message-view.ts";
import { isAway, messageOf, messagesOf, newestFirst, pageOfViews } from "./messages.ts";
import { bodyType, flag, nativeProperties, OK, OK_ANSWER, pageSchema, pageToken } from "../schemas.ts";
import { toMatches } from "./search.ts";
import { toDraftId } from "./drafts.ts";
import { OUTGOING, REPLY, sendMessage, sendReply, SENT } from "./send-message.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const LIST = z.object({
  pageToken,
  q: z.string().default(""),
  bodyType,
  includeTrashAndJunk: flag(false),
  nativeProperties,
});
const GET_ONE = z.object({
  bodyType,
  nativeProperties,
  loadInlines: flag(false),
  stripQuoted: flag(false),
  requireThreadId: flag(false),
  resolveDraftId: flag(false),
});
const STATUS = z.looseObject({ unread: z.boolean() });

/** Messages of an account. @see protocol 4.1 */
export function messageRoutes(service: EmulatedService, { pageSize, variants }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Messages",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });
  const now = (): number => service.clock.now();

  return [
    operation({
      method: "GET",
      path: "/v1/email/messages",
      summary: "Lists or searches messages, the newest first.",
      query: LIST,
      answer: pageSchema(MESSAGE),
      run({ caller: account, query }) {
        const matches = toMatches(query.q);
        const found = newestFirst(
          messagesOf(account),
          (message) => (query.includeTrashAndJunk || !isAway(message)) && matches(message),
        );
        const request = { list: "messages", pageToken: query.pageToken, pageSize };
        return pageOfViews(found, request, { account, bodyType: query.bodyType, now: now() });
      },
    }),
    operation({
      method: "POST",
      path: "/v1/email/messages",
      summary: "Sends a message, and tracks it if asked to.",
      query: z.object({ bodyType, returnIds: flag(false) }),
      body: OUTGOING,
      answer: SENT,
      causes: "email.created, tracking.initial",
      status: 201,
      run: ({ caller, query, body }) => sendMessage(service, { account: caller, mail: body, variants, ...query }),
    }),
    operation({
      method: "GET",
      path: "/v1/email/messages/:id",
      summary: "Gets a message.",
      query: GET_ONE,
      answer: MESSAGE,
      errors: [404, 408],
      run({ caller, query, param, context }) {
        const message = messageOf(caller, param("id"));
        const waitMs = threadKnownInMs(message, now());
        if (query.requireThreadId && waitMs > 0) {
          context.header("Retry-After", String(Math.ceil(waitMs / 1_000)));
          throw new ApiError(408, "threadId.notReady", "The thread of the message is not known yet.");
        }
        const view = toView(message, { ...query, account: caller, now: now() });
        const isDraft = labelsOf(message).includes("draft");
        return query.resolveDraftId && isDraft ? { ...view, draftId: toDraftId(message.id) } : view;
      },
    }),
    operation({
      method: "DELETE",
      path: "/v1/email/messages/:id",
      summary: "Moves a message to the trash.",
      causes: "email.updated",
      answer: OK_ANSWER,
      errors: [404],
      run({ caller, param }) {
        const message = messageOf(caller, param("id"));
        setLabels(caller, message, [...without(message, "inbox", "trash"), "trash"]);
        return OK;
      },
    }),
    operation({
      method: "GET",
      path: "/v1/email/messages/:id/attachments/:attachmentId",
      summary: "Gets the content of an attachment.",
      answer: ATTACHMENT_CONTENT,
      isExact: true,
      errors: [404],
      run: ({ caller, param }) => contentOf(messageOf(caller, param("id")), param("attachmentId")),
    }),
    operation({
      method: "POST",
      path: "/v1/email/messages/:id/reply",
      summary: "Answers a message in its conversation: its sender, unless there are other addressees.",
      query: z.object({ bodyType, returnIds: flag(false) }),
      body: REPLY,
      answer: SENT,
      causes: "email.created, tracking.initial",
      errors: [404],
      run: ({ caller, query, body, param }) =>
        sendReply(service, messageOf(caller, param("id")), { account: caller, mail: body, variants, ...query }),
    }),
    operation({
      method: "GET",
      path: "/v1/email/messages/:id/raw",
      summary: "Gets a message as it was sent, as text.",
      errors: [404],
      run: ({ caller, param, context }) => context.text(toRaw(messageOf(caller, param("id")))),
    }),
    operation({
      method: "POST",
      path: "/v1/email/messages/:id/status",
      summary: "Marks a message as read or unread.",
      causes: "email.updated",
      body: STATUS,
      answer: OK_ANSWER,
      errors: [404],
      run({ caller, body, param }) {
        const message = messageOf(caller, param("id"));
        setLabels(caller, message, [...without(message, "unread"), ...(body.unread ? ["unread"] : [])]);
        return OK;
      },
    }),
  ];
}

function setLabels(account: Account, { id }: MailboxRecord, sysLabels: readonly string[]): void {
  account.mailbox.update(messagesOf(account), id, { sysLabels });
}

function without(message: MailboxRecord, ...labels: readonly string[]): readonly string[] {
  return labelsOf(message).filter((label) => !labels.includes(label));
}
