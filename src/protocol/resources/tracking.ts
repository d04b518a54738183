import * as z from "zod/mini";
import type { Envelope, EventMap } from "../events.ts";
import { idField } from "../ids.ts";
import { TRACKING_TYPES } from "../names.ts";
import { fieldsReader, optional } from "./fields.ts";
import { pathMatcher } from "./path.ts";
import type { Resource } from "./resource.ts";

/** What becomes of e-mails that were sent with tracking. @see protocol 6.2 */
export const tracking: Resource = {
  family: "tracking",
  signal: undefined,
  match: pathMatcher("/email/tracking"),
  read(entry) {
    const fields = readTracking(entry);
    if (fields === undefined) return "shape";
    const type = types.get(fields.eventType);
    return type === undefined ? "value" : { type, fields };
  },
};

const types = new Map<string, `tracking.${(typeof TRACKING_TYPES)[number]}`>(
  TRACKING_TYPES.map((eventType) => [eventType, `tracking.${eventType}`]),
);

type Own<E> = Omit<E, keyof Envelope | "type" | "eventType">;

/** As on the wire: one bean for all kinds of event, each kind filling its part. */
type WireTracking = Own<EventMap["tracking.open"]> & Own<EventMap["tracking.reply"]> & { readonly eventType: string };

const optionalText = optional(z.string());

const readTracking = fieldsReader<WireTracking>({
  id: idField,
  eventType: z.string(),
  createdAt: z.string(),
  trackingId: idField,
  context: optionalText,
  trackingCode: optionalText,
  trackingThreadId: optionalText,
  trackingMessageId: optionalText,
  trackingInternetMessageId: optionalText,
  location: optionalText,
  userAgent: optionalText,
  remoteAddr: optionalText,
  referrer: optionalText,
  openNumber: optional(z.number()),
  threadId: optionalText,
  messageId: optionalText,
  internetMessageId: optionalText,
});
