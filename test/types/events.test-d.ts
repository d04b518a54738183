// What a handler gets for each name of a single event: exactly these fields, all of them readonly.
import type { AnyEvent, Change, ChangeType, Envelope, EventMap, EventOf, Id, UnknownEvent } from "hookline";
import type { Equal, Expect, Flat } from "./support.ts";

interface Sent {
  readonly subscription: number;
  readonly accountId: number;
  readonly resource: string;
}
interface ChangeOf<C> {
  readonly id: string;
  readonly changeType: C;
  readonly attributes?: { readonly threadId?: string };
}
interface Tracked {
  readonly id: number;
  readonly createdAt: string;
  readonly trackingId: number;
  readonly context?: string;
  readonly trackingCode?: string;
  readonly trackingThreadId?: string;
  readonly trackingMessageId?: string;
  readonly trackingInternetMessageId?: string;
}
interface Viewed {
  readonly location?: string;
  readonly userAgent?: string;
  readonly remoteAddr?: string;
  readonly referrer?: string;
  readonly openNumber?: number;
}
interface Mailed {
  readonly threadId?: string;
  readonly messageId?: string;
  readonly internetMessageId?: string;
}
type Is<N extends keyof EventMap, Fields> = Equal<Flat<EventOf<N>>, Flat<Fields & { readonly type: N }>>;

export type Basics = [
  Expect<Equal<Id, number>>,
  Expect<Equal<Flat<Envelope>, Flat<Sent>>>,
  Expect<Equal<ChangeType, "created" | "updated" | "deleted">>,
  Expect<Equal<Flat<Change>, Flat<ChangeOf<ChangeType>>>>,
  Expect<Equal<Flat<Change<"deleted">>, Flat<ChangeOf<"deleted">>>>,
  Expect<Equal<AnyEvent, EventMap[keyof EventMap]>>,
];

export type ChangesOfRecords = [
  Expect<Is<"email.created", Sent & ChangeOf<"created">>>,
  Expect<Is<"email.updated", Sent & ChangeOf<"updated">>>,
  Expect<Is<"email.deleted", Sent & ChangeOf<"deleted">>>,
  Expect<Is<"contact.created", Sent & ChangeOf<"created">>>,
  Expect<Is<"contact.updated", Sent & ChangeOf<"updated">>>,
  Expect<Is<"contact.deleted", Sent & ChangeOf<"deleted">>>,
  Expect<Is<"calendarEvent.created", Sent & ChangeOf<"created"> & { readonly calendarId: string }>>,
  Expect<Is<"calendarEvent.updated", Sent & ChangeOf<"updated"> & { readonly calendarId: string }>>,
  Expect<Is<"calendarEvent.deleted", Sent & ChangeOf<"deleted"> & { readonly calendarId: string }>>,
  Expect<Is<"task.created", Sent & ChangeOf<"created"> & { readonly taskListId: string }>>,
  Expect<Is<"task.updated", Sent & ChangeOf<"updated"> & { readonly taskListId: string }>>,
  Expect<Is<"task.deleted", Sent & ChangeOf<"deleted"> & { readonly taskListId: string }>>,
];

// A signal names no record: it has no id and no changeType.
export type Signals = [
  Expect<Is<"email.signal", Sent>>,
  Expect<Is<"contact.signal", Sent>>,
  Expect<Is<"calendarEvent.signal", Sent & { readonly calendarId: string }>>,
  Expect<Is<"task.signal", Sent & { readonly taskListId: string }>>,
];

// A batch has a list, and no id of its own.
interface Batch {
  readonly changes: readonly Change[];
  readonly signalled: boolean;
  readonly cause?: "gap";
}
export type Batches = [
  Expect<Is<"email.changes", Sent & Batch>>,
  Expect<Is<"contact.changes", Sent & Batch>>,
  Expect<Is<"calendarEvent.changes", Sent & Batch & { readonly calendarId: string }>>,
  Expect<Is<"task.changes", Sent & Batch & { readonly taskListId: string }>>,
];

export type TrackingEvents = [
  Expect<Is<"tracking.open", Sent & Tracked & Viewed & { readonly eventType: "open" }>>,
  Expect<Is<"tracking.click", Sent & Tracked & Viewed & { readonly eventType: "click" }>>,
  Expect<Is<"tracking.reply", Sent & Tracked & Mailed & { readonly eventType: "reply" }>>,
  Expect<Is<"tracking.replyBounce", Sent & Tracked & Mailed & { readonly eventType: "replyBounce" }>>,
  Expect<Is<"tracking.initial", Sent & Tracked & Mailed & { readonly eventType: "initial" }>>,
];

interface Booked {
  readonly bookingId: number;
  readonly calendarId: string;
  readonly eventId: string;
}
export type OtherEvents = [
  Expect<Is<"booking", Sent & Booked>>,
  Expect<Is<"lifecycle.error", Sent & { readonly error: string }>>,
  Expect<Is<"lifecycle.active", Sent>>,
];

// Of an unknown event anything may be missing but its reason.
interface Unread {
  readonly subscription?: number;
  readonly accountId?: number;
  readonly resource?: string;
  readonly reason: "not-json" | "shape" | "resource" | "value" | "body-deleted";
  readonly field?: string;
  readonly json?: unknown;
}
export type UnknownEvents = [
  Expect<Is<"unknown", Unread>>,
  Expect<Equal<EventOf<"unknown">, UnknownEvent>>,
  Expect<Equal<EventMap["unknown"], UnknownEvent>>,
];
