import type { Envelope, EventMap, Mail, View } from "../../index.ts";

/** What can be sent: any event, and the question for a token that comes before a subscription is made. */
export type SendName = keyof EventMap | "handshake";

/** The fields of an event that can be given; the others follow from its name. */
export const FIELDS: { readonly [N in Known]: FieldsOf<EventMap[N]> } = fieldsOfAll();

/** Every name, in the order of the help. */
export const SEND_NAMES: readonly SendName[] = [...(Object.keys(FIELDS) as Known[]), "unknown", "handshake"];

/** All but the one that has no fields of its own. */
type Known = Exclude<keyof EventMap, "unknown">;

/** Each of them by its name, so that none can be forgotten and none made up. */
type FieldsOf<E> = Readonly<Record<Exclude<keyof E, "type" | "changeType" | "eventType" | "signalled">, true>>;

function fieldsOfAll(): typeof FIELDS {
  const envelope: FieldsOf<Envelope> = { subscription: true, accountId: true, resource: true };
  const view: FieldsOf<View> = {
    location: true,
    userAgent: true,
    remoteAddr: true,
    referrer: true,
    openNumber: true,
  };
  const mail: FieldsOf<Mail> = { threadId: true, messageId: true, internetMessageId: true };
  const record = { id: true, attributes: true, ...envelope } as const;
  const signal = envelope;
  const changes = { changes: true, ...envelope } as const;
  const calendar = { calendarId: true } as const;
  const list = { taskListId: true } as const;
  const tracking = {
    id: true,
    trackingId: true,
    context: true,
    createdAt: true,
    trackingCode: true,
    trackingThreadId: true,
    trackingMessageId: true,
    trackingInternetMessageId: true,
    ...envelope,
  } as const;
  return {
    "email.created": record,
    "email.updated": record,
    "email.deleted": record,
    "email.signal": signal,
    "email.changes": changes,
    "contact.created": record,
    "contact.updated": record,
    "contact.deleted": record,
    "contact.signal": signal,
    "contact.changes": changes,
    "calendarEvent.created": { ...calendar, ...record },
    "calendarEvent.updated": { ...calendar, ...record },
    "calendarEvent.deleted": { ...calendar, ...record },
    "calendarEvent.signal": { ...calendar, ...signal },
    "calendarEvent.changes": { ...calendar, ...changes },
    "task.created": { ...list, ...record },
    "task.updated": { ...list, ...record },
    "task.deleted": { ...list, ...record },
    "task.signal": { ...list, ...signal },
    "task.changes": { ...list, ...changes },
    "tracking.open": { ...view, ...tracking },
    "tracking.click": { ...view, ...tracking },
    "tracking.reply": { ...mail, ...tracking },
    "tracking.replyBounce": { ...mail, ...tracking },
    "tracking.initial": { ...mail, ...tracking },
    booking: { bookingId: true, eventId: true, calendarId: true, ...envelope },
    "lifecycle.error": { error: true, ...envelope },
    "lifecycle.active": envelope,
  };
}
