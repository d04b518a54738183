import * as z from "zod/mini";
import { readMessage, type Message } from "./message.ts";
import { nested, number, optionalId, recordReader, text, type Open, type Reader } from "./reader.ts";

/** How a message is tracked. */
export interface TrackingRequest {
  opens?: boolean | undefined;
  threadReplies?: boolean | undefined;
  /** Seconds after sending in which nothing counts as an opening. */
  trackOpensAfterSendDelay?: number | undefined;
  /** Comes back in each event of its tracking. */
  context?: string | undefined;
}

/** A draft that was created or replaced. */
export interface SavedDraft {
  readonly id: string;
  readonly [field: string]: unknown;
}

export const readSavedDraft: Reader<SavedDraft> = recordReader<{ readonly id: string }>({ id: z.string() });

/** When a draft will be sent. */
export interface ScheduledDraft {
  readonly jobId?: number;
  readonly sendTime?: string;
  readonly status?: Open<"scheduled" | "sent" | "failed">;
  readonly errorMessage?: string;
}

interface DraftFields {
  readonly id: string;
  readonly scheduled?: ScheduledDraft;
}

/** A draft. Fields that are not listed here are kept. */
export interface Draft extends DraftFields {
  readonly message: Message;
  readonly [field: string]: unknown;
}

const readFields = recordReader<DraftFields>({
  id: z.string(),
  scheduled: nested<ScheduledDraft>({ jobId: number, sendTime: text, status: text, errorMessage: text }),
});

export const readDraft: Reader<Draft> = (json) => {
  const draft = readFields(json);
  return { ...draft, message: readMessage(draft["message"]) };
};

interface SentDraftFields {
  readonly status?: Open<"Ok" | "Scheduled">;
  /** As tracking events have it. */
  readonly trackingId?: number;
}

/** A draft that was sent, or will be. Fields that are not listed here are kept. */
export interface SentDraft extends SentDraftFields {
  readonly [field: string]: unknown;
}

const readSentFields = recordReader<SentDraftFields>({ status: text, trackingId: optionalId });

export const readSentDraft: Reader<SentDraft> = (json) => readSentFields(json ?? {});

interface PreparedFields {
  /** To be sent in place of the text that was given. */
  readonly htmlBody: string;
  readonly trackingId?: number;
}

/** The tracking of a draft. Fields that are not listed here are kept. */
export interface PreparedTracking extends PreparedFields {
  readonly [field: string]: unknown;
}

export const readPreparedTracking: Reader<PreparedTracking> = recordReader<PreparedFields>({
  htmlBody: z.string(),
  trackingId: optionalId,
});
