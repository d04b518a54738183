import type { Context } from "hono";
import * as z from "zod";
import type { Account } from "../accounts/account.ts";
import type { Collection, MailboxRecord } from "../accounts/mailbox.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { ApiError, bodyOf, checked, type Route } from "../http/routes.ts";
import { reachableAccountOf } from "./authenticate.ts";
import { threadKnownInMs, toRaw, toView } from "./message-view.ts";
import { pageOf, type Page } from "./pages.ts";
import { toMatches } from "./search.ts";

/** A boolean of a query, which may be empty. @see protocol 4.1: "query booleans are nullable" */
const flag = z.enum(["true", "false", ""]).optional();
const bodyType = z.enum(["html", "text"]).default("html");

const LIST = z.object({
  pageToken: z.string().optional(),
  q: z.string().default(""),
  bodyType,
  includeTrashAndJunk: flag,
});
const GET_ONE = z.object({
  bodyType,
  loadInlines: flag,
  stripQuoted: flag,
  requireThreadId: flag,
  resolveDraftId: flag,
});
const CONVERSATION = z.object({ pageToken: z.string().optional(), bodyType });
const FOLLOW_UP = z.object({ bodyType, skipMailboxCheck: flag });
const STATUS = z.looseObject({ unread: z.boolean() });

/** Messages and conversations of an account, but for sending. @see protocol 4.1 */
export function messageRoutes(service: EmulatedService, pageSize: number): readonly Route[] {
  function messagesOf(context: Context): { readonly account: Account; readonly messages: Collection } {
    const account = reachableAccountOf(service, context);
    return { account, messages: account.mailbox.collection("/email/messages") };
  }

  function messageOf(context: Context): {
    readonly account: Account;
    readonly messages: Collection;
    readonly message: MailboxRecord;
  } {
    const { account, messages } = messagesOf(context);
    const id = context.req.param("id") ?? "";
    const message = messages.records.get(id);
    if (message !== undefined) return { account, messages, message };
    throw new ApiError(404, "not_found", `There is no message ${JSON.stringify(id)}.`);
  }

  const now = (): number => service.clock.now();

  function withViews(page: Page<MailboxRecord>, type: "html" | "text"): Page<object> {
    const records = page.records.map((message) => toView(message, { bodyType: type, stripQuoted: false, now: now() }));
    return { ...page, records };
  }

  return [
    {
      method: "GET",
      path: "/v1/email/messages",
      run(context) {
        const { messages } = messagesOf(context);
        const { pageToken, q, bodyType: type, includeTrashAndJunk } = checked(LIST, context.req.query());
        const matches = toMatches(q);
        const found = newestFirst(
          messages,
          (message) => (includeTrashAndJunk === "true" || !isAway(message)) && matches(message),
        );
        const page = pageOf(found, { list: "messages", pageToken, pageSize });
        return withViews(page, type);
      },
    },
    {
      method: "GET",
      path: "/v1/email/messages/:id",
      run(context) {
        const { message } = messageOf(context);
        const { bodyType: type, stripQuoted, requireThreadId, resolveDraftId } = checked(GET_ONE, context.req.query());
        const waitMs = threadKnownInMs(message, now());
        if (requireThreadId === "true" && waitMs > 0) {
          context.header("Retry-After", String(Math.ceil(waitMs / 1_000)));
          throw new ApiError(408, "threadId.notReady", "The thread of the message is not known yet.");
        }
        const view = toView(message, { bodyType: type, stripQuoted: stripQuoted === "true", now: now() });
        return resolveDraftId === "true" && hasLabel(message, "draft")
          ? { ...view, draftId: `draft-${message.id}` }
          : view;
      },
    },
    {
      method: "DELETE",
      path: "/v1/email/messages/:id",
      run(context) {
        const { account, messages, message } = messageOf(context);
        const kept = labelsOf(message).filter((label) => label !== "inbox");
        account.mailbox.update(messages, message.id, { sysLabels: [...new Set([...kept, "trash"])] });
        return OK;
      },
    },
    {
      method: "GET",
      path: "/v1/email/messages/:id/raw",
      run: (context) => context.text(toRaw(messageOf(context).message)),
    },
    {
      method: "POST",
      path: "/v1/email/messages/:id/status",
      async run(context) {
        const { account, messages, message } = messageOf(context);
        const { unread } = await bodyOf(context, STATUS);
        const others = labelsOf(message).filter((label) => label !== "unread");
        account.mailbox.update(messages, message.id, { sysLabels: unread ? [...others, "unread"] : others });
        return OK;
      },
    },
    {
      method: "GET",
      path: "/v1/email/conversations/:threadId",
      run(context) {
        const { pageToken, bodyType: type } = checked(CONVERSATION, context.req.query());
        const { list, found } = conversationOf(context);
        const page = pageOf(found, { list, pageToken, pageSize });
        return withViews(page, type);
      },
    },
    {
      method: "GET",
      path: "/v1/email/conversations/:threadId/followup",
      run(context) {
        const { bodyType: type } = checked(FOLLOW_UP, context.req.query());
        const sent = conversationOf(context).found.find(([, message]) => hasLabel(message, "sent"))?.[1];
        const lastSentEmail = sent && toView(sent, { bodyType: type, stripQuoted: false, now: now() });
        return { lastSentEmail: lastSentEmail ?? null, followup: null, mailboxError: null, followupError: null };
      },
    },
  ];

  function conversationOf(context: Context): {
    readonly list: string;
    readonly found: readonly (readonly [number, MailboxRecord])[];
  } {
    const { messages } = messagesOf(context);
    const threadId = context.req.param("threadId") ?? "";
    const found = newestFirst(messages, (message) => message["threadId"] === threadId);
    if (found.length === 0)
      throw new ApiError(404, "not_found", `There is no conversation ${JSON.stringify(threadId)}.`);
    return { list: `conversation ${threadId}`, found };
  }
}

/** @see protocol 2.1: "an OK response object", whose fields are not shown */
const OK = { status: "Ok" };

/** By the number under which each came: a message that arrives between two pages is on none that follows. */
function newestFirst(
  { records, nthOf }: Collection,
  isWanted: (message: MailboxRecord) => boolean,
): readonly (readonly [number, MailboxRecord])[] {
  return [...records.values()]
    .filter(isWanted)
    .map((message) => [-(nthOf.get(message.id) ?? 0), message] as const)
    .toSorted(([a], [b]) => a - b);
}

function labelsOf({ sysLabels }: MailboxRecord): readonly string[] {
  return Array.isArray(sysLabels) ? (sysLabels as readonly string[]) : [];
}

function hasLabel(message: MailboxRecord, label: string): boolean {
  return labelsOf(message).includes(label);
}

function isAway(message: MailboxRecord): boolean {
  return hasLabel(message, "trash") || hasLabel(message, "junk");
}
