import * as z from "zod/mini";
import type { Envelope, EventMap } from "./events.ts";
import { idField, recordIdField } from "./ids.ts";
import { TRACKING_TYPES } from "./event-names.ts";
import { EntryProblem } from "./resources/entry-problem.ts";
import { fieldsReader, optional } from "./fields.ts";
import { pathMatcher } from "./resources/path.ts";
import type { Resource } from "./resources/resource.ts";

/** What becomes of e-mails that were sent with tracking. @see protocol 6.2 */
export const tracking: Resource = {
  family: "tracking",
  signal: undefined,
  // Those that it must have are numbers of the protocol: beyond 2^53 they are none.
  recordIds: [],
  namesItself: false,
  match: pathMatcher("/email/tracking"),
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

/** As on the wire: one bean for all kinds of event, each kind filling its part. */
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
