import { sample } from "hookline/testing";
import { LOCKED_TASK } from "./app.ts";
import { change, labelOf, show, subscriptionTo, type TourContext, type What } from "./context.ts";
import { crashing } from "./crashing.ts";

/** The tour, part by part. */
export const parts: readonly ((tour: TourContext) => Promise<void>)[] = [
  handshake,
  oneOfEachKind,
  theSameAgain,
  forged,
  failing,
  merging,
  unsubscribing,
  crashing,
];

const EMAIL = "/email/messages";
const CONTACTS = "/contacts";
const CALENDAR = "/calendars/primary/events";
const TASKS = "/tasklists/default/tasks";
const TRACKING = "/email/tracking";
const BOOKING = "/booking/31";

async function handshake({ service, account, url, printer, subscriptions }: TourContext): Promise<void> {
  printer.part(
    "The handshake",
    "Before the service accepts a URL, the URL must return a token. The request is signed, too.",
  );
  for (const resource of [EMAIL, CONTACTS, CALENDAR, TASKS, TRACKING, BOOKING]) {
    const subscription = await service.subscribe(account, resource, url);
    subscriptions.set(resource, subscription);
    const what = `subscription ${subscription.id}`;
    printer.row([resource, "token"], 200, { what, text: "the same token" });
  }
}

async function oneOfEachKind(tour: TourContext): Promise<void> {
  tour.printer.part(
    "One of each kind",
    "A delivery is stored and answered 200 at once. Then its handler runs, found by the event's",
    "name. What nobody knows is stored as well: its event is unknown.",
  );
  const tracking = ["initial", "open", "click", "reply", "replyBounce"].map(
    (eventType, index) => [TRACKING, trackingEvent(eventType, 501 + index)] as const,
  );
  const deliveries: readonly (readonly [resource: string, what: What])[] = [
    [EMAIL, change("created", "m-1")],
    [EMAIL, change("updated", "m-1")],
    [EMAIL, change("deleted", "m-1")],
    [CONTACTS, change("created", "c-1")],
    [CALENDAR, change("updated", "e-1")],
    [CALENDAR, sample("calendarEvent.signal")],
    [TASKS, change("created", "t-1")],
    ...tracking,
    [BOOKING, [{ bookingId: 31, calendarId: "primary", eventId: "e-2" }]],
    [EMAIL, sample("lifecycle.error")],
    [EMAIL, sample("lifecycle.active")],
    [EMAIL, [{ id: "m-2", changeType: "archived" }]],
  ];
  for (const [resource, what] of deliveries) await show(tour, resource, what);
}

async function theSameAgain(tour: TourContext): Promise<void> {
  tour.printer.part(
    "The same again",
    "If an answer gets lost, the service redelivers. Tracking and bookings carry ids, so the",
    "second copy is acknowledged and not handled again.",
  );
  const tracking = subscriptionTo(tour, TRACKING);
  tracking.spoilNext("lose-answer");
  await show(tour, TRACKING, trackingEvent("open", 506));
  const { status } = await tracking.redelivery();
  tour.printer.row([TRACKING, "redelivery"], status, await tour.journal.next());
}

async function forged(tour: TourContext): Promise<void> {
  tour.printer.part(
    "A forged one",
    "A signature made with another secret. The sender gets a bare 401 without a reason; the log and",
    "the counters have the cause. The same delivery, signed rightly, is stored.",
  );
  const email = subscriptionTo(tour, EMAIL);
  email.spoilNext("wrong-signature");
  await show(tour, EMAIL, change("created", "m-2"));
  const { status } = await email.redelivery();
  tour.printer.row([EMAIL, "redelivery"], status, await tour.journal.next());
}

async function failing(tour: TourContext): Promise<void> {
  const { journal, printer } = tour;
  printer.part(
    "A handler that fails",
    "It is retried after about 1 s, then 2 s, 4 s ... for a day. Meanwhile its own record",
    "waits; all others continue.",
  );
  await show(tour, TASKS, change("updated", LOCKED_TASK));
  printer.later(await journal.next());
  await show(tour, TASKS, change("updated", "t-3"));
  for (let more = 0; more < 3; more += 1) printer.later(await journal.next());
}

async function merging(tour: TourContext): Promise<void> {
  const { app, journal, printer } = tour;
  printer.part(
    "Many changes of one record",
    "Two calls for one record never overlap. Changes that arrive while a call runs wait, and are",
    "merged into one call.",
  );
  let endCall: (() => void) | undefined;
  app.busy.set("m-3", new Promise((resolve) => (endCall = resolve)));
  const what = change("updated", "m-3");
  await show(tour, EMAIL, what);
  for (let sent = 0; sent < 3; sent += 1) {
    const attempt = await subscriptionTo(tour, EMAIL).deliver(what);
    printer.row(labelOf(EMAIL, what), attempt?.status, { what: "", text: "waits for that call" });
  }
  endCall?.();
  printer.later(await journal.next());
}

async function unsubscribing({ service, url, journal, printer }: TourContext): Promise<void> {
  printer.part(
    "An unwanted subscription",
    "A handler calls ctx.unsubscribe. The next delivery is answered 422, and that makes",
    "the service delete the subscription. No error of a handler is ever answered so.",
  );
  const closed = await service.subscribe(await service.account(), EMAIL, url);
  const row = async (id: string, outcome: (status: number | undefined) => unknown): Promise<void> => {
    const what = change("created", id);
    const attempt = await closed.deliver(what);
    const came = (await outcome(attempt?.status)) as { readonly what: string; readonly text: string };
    printer.row(labelOf(EMAIL, what), attempt?.status, came);
  };
  await row("m-4", () => journal.next());
  await row("m-5", () => ({
    what: `subscription ${closed.id}`,
    text: service.deleted === 1 ? "the service deletes it" : "the service keeps it",
  }));
  await row("m-6", (status) => ({ what: "", text: status === undefined ? "not sent any more" : "sent after all" }));
}

/** An event of a tracked message. */
function trackingEvent(eventType: string, id: number): readonly object[] {
  const own =
    eventType === "open" || eventType === "click"
      ? { location: "Oslo", userAgent: "Mozilla/5.0", remoteAddr: "192.0.2.7" }
      : { threadId: "h-1", messageId: "m-1", internetMessageId: "<m-1@example.com>" };
  return [{ id, eventType, trackingId: 77, createdAt: "2026-03-02T09:30:00Z", context: "offer", ...own }];
}
