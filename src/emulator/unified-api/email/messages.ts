import type { Account } from "../../accounts/account.ts";
import type { Collection, MailboxRecord } from "../../accounts/mailbox.ts";
import { labelsOf } from "../../accounts/labels.ts";
import { ApiError } from "../../http/routes.ts";
import { toView } from "./message-view.ts";
import { pageOf, type Page, type PageRequest } from "../pages.ts";

/** All messages of an account. */
export function messagesOf({ mailbox }: Account): Collection {
  return mailbox.collection("/email/messages");
}

/** By the number under which each came: a message that arrives between two pages is on none that follows. */
export function newestFirst(
  { records, nthOf }: Collection,
  isWanted: (message: MailboxRecord) => boolean,
): readonly (readonly [number, MailboxRecord])[] {
  return [...records.values()]
    .filter(isWanted)
    .map((message) => [-(nthOf.get(message.id) ?? 0), message] as const)
    .toSorted(([a], [b]) => a - b);
}

/** A page of messages as a list shows them. @see protocol 4.1: some kinds of account give only a preview of the body */
export function pageOfViews(
  found: readonly (readonly [number, MailboxRecord])[],
  request: PageRequest,
  { account, bodyType, now }: { readonly account: Account; readonly bodyType: "html" | "text"; readonly now: number },
): Page<object> {
  const page = pageOf(found, request);
  const view = { account, bodyType, stripQuoted: false, loadInlines: false, isPreview: !account.hasBodiesInLists, now };
  return { ...page, records: page.records.map((message) => toView(message, view)) };
}

/** @throws ApiError 404 */
export function messageOf(account: Account, id: string): MailboxRecord {
  const message = messagesOf(account).records.get(id);
  if (message !== undefined) return message;
  throw new ApiError(404, "not_found", `There is no message ${JSON.stringify(id)}.`);
}

/** True where a list leaves the message out, unless it is asked for. */
export function isAway(message: MailboxRecord): boolean {
  const labels = labelsOf(message);
  return labels.includes("trash") || labels.includes("junk");
}
