import type { Account } from "../../accounts/account.ts";
import { labelsOf } from "../../accounts/labels.ts";
import type { MailboxRecord } from "../../accounts/mailbox.ts";
import type { TrackedMessage, TrackingOptions } from "../../accounts/tracking.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { ApiError, checked } from "../../http/routes.ts";
import type { ResolvedVariants } from "../unified-routes.ts";
import { messageOf, messagesOf } from "./messages.ts";
import { OUTGOING, sendMessage } from "./send-message.ts";

const PREFIX = "draft-";

/** Of the message that a draft is. */
export function toDraftId(messageId: string): string {
  return PREFIX + messageId;
}

/** The message of a draft. @throws ApiError 404 */
export function draftOf(account: Account, draftId: string): MailboxRecord {
  const message = messagesOf(account).records.get(draftId.slice(PREFIX.length));
  if (message !== undefined && draftId.startsWith(PREFIX) && labelsOf(message).includes("draft")) return message;
  throw new ApiError(404, "not_found", `There is no draft ${JSON.stringify(draftId)}.`);
}

/** The draft is not sent at its time any more. */
export function unschedule({ scheduled }: Account, messageId: string): void {
  scheduled.get(messageId)?.timer.clear();
  scheduled.delete(messageId);
}

/** A tracked draft that has not been sent. */
export function preparedOf({ tracking }: Account, draftId: string): TrackedMessage | undefined {
  return tracking.all.findLast((tracked) => tracked.draftId === draftId && tracked.sent === undefined);
}

/** How a draft is sent. */
export interface DraftSending {
  readonly variants: ResolvedVariants;
  /** Instead of that which the draft was written with. */
  readonly tracking?: TrackingOptions | undefined;
}

/**
 * Sends a draft, which becomes another message.
 *
 * @returns the id of its tracking
 * @throws ApiError 400 where nobody would get it
 */
export function sendDraft(
  service: EmulatedService,
  account: Account,
  { draft, variants, tracking }: DraftSending & { readonly draft: MailboxRecord },
): string | undefined {
  const {
    id,
    createdTime: _,
    lastModifiedTime: __,
    sysLabels: ___,
    threadId: ____,
    folderId: _____,
    ...written
  } = draft;
  const prepared = preparedOf(account, toDraftId(id));
  const mail = checked(OUTGOING, { ...written, ...(tracking && { tracking }) });
  unschedule(account, id);
  account.mailbox.remove(messagesOf(account), id);
  const sent = sendMessage(service, { account, mail, variants, bodyType: "html", returnIds: true });
  if (prepared !== undefined) account.tracking.begin(prepared, messageOf(account, sent.id ?? ""));
  const trackingId = sent.trackingId ?? prepared?.trackingId;
  return trackingId === undefined ? undefined : String(trackingId);
}
