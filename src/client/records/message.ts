import * as z from "zod/mini";
import type { EmailAddress } from "./calendar-event.ts";
import {
  flag,
  nested,
  nestedList,
  number,
  optionalId,
  recordReader,
  text,
  texts,
  type Open,
  type Reader,
} from "./reader.ts";

/** A file within a message. */
export interface MessageAttachment {
  readonly id?: string;
  readonly name?: string;
  readonly mimeType?: string;
  /** Bytes. */
  readonly size?: number;
  readonly inline?: boolean;
  readonly contentId?: string;
  /** Base64, where it was loaded. */
  readonly content?: string;
}

interface MessageFields {
  readonly id: string;
  readonly threadId?: string;
  /** Where `resolveDraftId` asked for it, and the message is a draft. */
  readonly draftId?: string;
  readonly internetMessageId?: string;
  readonly subject?: string;
  readonly from?: EmailAddress;
  readonly to?: readonly EmailAddress[];
  readonly cc?: readonly EmailAddress[];
  readonly bcc?: readonly EmailAddress[];
  readonly replyTo?: readonly EmailAddress[];
  /** Only a preview where `omitted` has `body`. */
  readonly body?: string;
  readonly bodySnippet?: string;
  readonly createdTime?: string;
  readonly receivedAt?: string;
  readonly sentAt?: string;
  readonly sysLabels?: readonly Open<
    "inbox" | "sent" | "draft" | "junk" | "trash" | "unread" | "flagged" | "important"
  >[];
  readonly keywords?: readonly string[];
  readonly hasAttachments?: boolean;
  readonly attachments?: readonly MessageAttachment[];
  readonly folderId?: string;
  /** What the service left out, such as `body` or `threadId`. */
  readonly omitted?: readonly string[];
}

/** An e-mail message. Fields that are not listed here are kept. @see protocol 2.1 */
export interface Message extends MessageFields {
  readonly [field: string]: unknown;
}

const ADDRESS = { address: text, name: text };
const addresses = nestedList<EmailAddress>(ADDRESS);

export const readMessage: Reader<Message> = recordReader<MessageFields>({
  id: z.string(),
  threadId: text,
  draftId: text,
  internetMessageId: text,
  subject: text,
  from: nested<EmailAddress>(ADDRESS),
  to: addresses,
  cc: addresses,
  bcc: addresses,
  replyTo: addresses,
  body: text,
  bodySnippet: text,
  createdTime: text,
  receivedAt: text,
  sentAt: text,
  sysLabels: texts,
  keywords: texts,
  hasAttachments: flag,
  attachments: nestedList<MessageAttachment>({
    id: text,
    name: text,
    mimeType: text,
    size: number,
    inline: flag,
    contentId: text,
    content: text,
  }),
  folderId: text,
  omitted: texts,
});

interface SentFields {
  readonly id?: string;
  readonly threadId?: string;
  readonly submittedMessageId?: string;
  /** As tracking events have it. */
  readonly trackingId?: number;
  readonly processingStatus?: Open<"Ok" | "Incomplete">;
  readonly processingError?: { readonly failedSteps?: readonly string[]; readonly errorMessage?: string };
}

/** What sending gives. The mail went out, whatever is in here. Fields that are not listed here are kept. */
export interface SentMessage extends SentFields {
  /** The mail went out, and what was to follow did not all succeed: never send it again for this. */
  readonly warning?: string;
  readonly [field: string]: unknown;
}

const readSent = recordReader<SentFields>({
  id: text,
  threadId: text,
  submittedMessageId: text,
  trackingId: optionalId,
  processingStatus: text,
  processingError: nested<NonNullable<SentFields["processingError"]>>({ failedSteps: texts, errorMessage: text }),
});

export const readSentMessage: Reader<SentMessage> = (json) => {
  const sent = readSent(json ?? {});
  if (sent.processingStatus !== "Incomplete") return sent;
  const steps = sent.processingError?.failedSteps?.join(", ") ?? "not said";
  return { ...sent, warning: `The mail was sent; steps that failed afterwards: ${steps}.` };
};

interface FollowupFields {
  readonly lastSentEmail?: Message;
  readonly followup?: object;
  readonly mailboxError?: unknown;
  readonly followupError?: unknown;
}

/** Whether a conversation waits for an answer. Fields that are not listed here are kept. */
export interface FollowupStatus extends FollowupFields {
  readonly [field: string]: unknown;
}

const readFollowup = recordReader<Pick<FollowupFields, "followup">>({ followup: nested<object>({}) });

export const readFollowupStatus: Reader<FollowupStatus> = (json) => {
  const { lastSentEmail, ...status } = readFollowup(json);
  return lastSentEmail === null || lastSentEmail === undefined
    ? status
    : { ...status, lastSentEmail: readMessage(lastSentEmail) };
};
