import * as z from "zod/mini";
import { TRACKING_TYPES } from "./event-names.ts";
import type { Envelope, EventMap, Id } from "./event-types.ts";
import { EntryProblem, fieldsReader, idField, optional, recordIdField } from "./read-fields.ts";
import type { Resource } from "./resources.ts";

/** The events of e-mail tracking. @see protocol 6.2 */
export type Tracking<T extends string, X = unknown> = {
  [N in T as `tracking.${N}`]: Envelope &
    X & {
      readonly type: `tracking.${N}`;
      /** The part of the event's name after the dot. */
      readonly eventType: N;
      /** Of this event; a duplicate is handled once. */
      readonly id: Id;
      /** RFC 3339. */
      readonly createdAt: string;
      /** Of the tracked message: all its events have the same. */
      readonly trackingId: Id;
      /** Your own text, given when the message was sent. */
      readonly context?: string;
      /** A UUID as text. What it identifies is not documented. */
      readonly trackingCode?: string;
      /** The thread of the tracked message, opaque. Not in the service's guide. */
      readonly trackingThreadId?: string;
      /** The id of the tracked message, opaque. Not in the service's guide. */
      readonly trackingMessageId?: string;
      /** The internet message id of the tracked message. Not in the service's guide. */
      readonly trackingInternetMessageId?: string;
    };
};

/** The person who opened or clicked: personal data, never logged. @see protocol 6.2 */
export interface View {
  /** Where the open or click came from, as text; its form is not documented. */
  readonly location?: string;
  /** The user agent that opened or clicked. */
  readonly userAgent?: string;
  /** The address that the open or click came from. */
  readonly remoteAddr?: string;
  /** The referrer of the request. Not in the service's guide. */
  readonly referrer?: string;
  /** The number of the open. Not in the service's guide; how it is counted is not documented. */
  readonly openNumber?: number;
}

/** The message of a tracking event. @see protocol 6.2 */
export interface Mail {
  /** The thread of the message, opaque. */
  readonly threadId?: string;
  /** The id of the message, opaque. */
  readonly messageId?: string;
  /** The internet message id of the message. */
  readonly internetMessageId?: string;
}

/** What happens to e-mails that were sent with tracking. @see protocol 6.2 */
export const tracking: Resource = {
  family: "tracking",
  path: "/email/tracking",
  signal: undefined,
  // Its required ids are numbers by protocol 6.2; beyond 2^53 they are invalid.
  recordIds: [],
  entryHasIds: false,
  read(entry) {
    const fields = readTracking(entry);
    if (fields instanceof EntryProblem) return fields;
    const type = types.get(fields.eventType);
    return type === undefined ? new EntryProblem("value", "eventType") : { type, fields };
  },
};

const types = new Map<string, `tracking.${(typeof TRACKING_TYPES)[number]}`>(
  TRACKING_TYPES.map((eventType) => [eventType, `tracking.${eventType}`]),
);

type Own<E> = Omit<E, keyof Envelope | "type" | "eventType">;

/** As on the wire: one object for all types of event, each of which fills its part. */
type WireTracking = Own<EventMap["tracking.open"]> & Own<EventMap["tracking.reply"]> & { readonly eventType: string };

const optionalText = optional(z.string());
const optionalRecordId = optional(recordIdField);

const readTracking = fieldsReader<WireTracking>({
  id: idField,
  eventType: z.string(),
  createdAt: z.string(),
  trackingId: idField,
  context: optionalText,
  trackingCode: optionalText,
  trackingThreadId: optionalRecordId,
  trackingMessageId: optionalRecordId,
  trackingInternetMessageId: optionalText,
  location: optionalText,
  userAgent: optionalText,
  remoteAddr: optionalText,
  referrer: optionalText,
  openNumber: optional(z.number()),
  threadId: optionalRecordId,
  messageId: optionalRecordId,
  internetMessageId: optionalText,
});
