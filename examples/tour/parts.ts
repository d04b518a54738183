import { CLOSED_ACCOUNT, LOCKED_TASK } from "./app.ts";
import { crashing } from "./crashing.ts";
import * as wire from "./deliveries.ts";
import { show, type TourContext } from "./context.ts";

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

async function handshake({ service, printer }: TourContext): Promise<void> {
  printer.part(
    "The handshake",
    "Before the service accepts a URL, the URL must return a token. The request is signed, too.",
  );
  const token = "6f9c2b1e-5d0a-4c7e-9b1f-2f6f4c1d8a35";
  const { status, same } = await service.verify(token);
  const what = same ? "the same token" : "something else than the token";
  printer.row(["?validationToken=6f9c2b1e-5d0a...", ""], status, { what, text: "" });
}

async function oneOfEachKind(tour: TourContext): Promise<void> {
  tour.printer.part(
    "One of each kind",
    "A delivery is stored and answered 200 at once. Then its handler runs, found by the event's",
    "name. A delivery of an unknown kind is stored as well: its event is unknown.",
  );
  const deliveries = [
    wire.change(wire.EMAIL, "created", "m-1"),
    wire.change(wire.EMAIL, "updated", "m-1"),
    wire.change(wire.EMAIL, "deleted", "m-1"),
    wire.change(wire.CONTACTS, "created", "c-1"),
    wire.change(wire.CALENDAR, "updated", "e-1"),
    wire.signal(wire.CALENDAR),
    wire.change(wire.TASKS, "created", "t-1"),
    wire.tracking("initial", 501),
    wire.tracking("open", 502),
    wire.tracking("click", 503),
    wire.tracking("reply", 504),
    wire.tracking("replyBounce", 505),
    wire.booking("e-2"),
    wire.lifecycle("error"),
    wire.lifecycle("active"),
    wire.signal("/notes"),
  ];
  for (const delivery of deliveries) await show(tour, delivery);
}

async function theSameAgain(tour: TourContext): Promise<void> {
  tour.printer.part(
    "The same again",
    "If an answer gets lost, the service redelivers. Tracking and bookings carry ids, so the",
    "second copy is acknowledged and not handled again.",
  );
  const delivery = wire.tracking("open", 506);
  await show(tour, delivery);
  await show(tour, delivery);
}

async function forged({ service, journal, printer }: TourContext): Promise<void> {
  printer.part(
    "A forged one",
    "A valid signature, but of another body. The sender gets a bare 401 without a reason; the log",
    "and the counters have the cause.",
  );
  const delivery = wire.change(wire.EMAIL, "created", "m-2");
  printer.row(wire.labelOf(delivery), await service.forge(delivery), await journal.next());
}

async function failing(tour: TourContext): Promise<void> {
  const { journal, printer } = tour;
  printer.part(
    "A handler that fails",
    "It is retried after about 1 s, then 2 s, 4 s ... for a day. Meanwhile its own record",
    "waits; all others continue.",
  );
  await show(tour, wire.change(wire.TASKS, "updated", LOCKED_TASK));
  printer.later(await journal.next());
  await show(tour, wire.change(wire.TASKS, "updated", "t-3"));
  for (let more = 0; more < 3; more += 1) printer.later(await journal.next());
}

async function merging(tour: TourContext): Promise<void> {
  const { app, journal, printer, service } = tour;
  printer.part(
    "Many changes of one record",
    "Two calls for one record never overlap. Changes that arrive while a call runs wait, and are",
    "merged into one call.",
  );
  let endCall: (() => void) | undefined;
  app.busy.set("m-3", new Promise((resolve) => (endCall = resolve)));
  const delivery = wire.change(wire.EMAIL, "updated", "m-3");
  await show(tour, delivery);
  for (let sent = 0; sent < 3; sent += 1) {
    printer.row(wire.labelOf(delivery), await service.deliver(delivery), { what: "", text: "waits for that call" });
  }
  endCall?.();
  printer.later(await journal.next());
}

async function unsubscribing(tour: TourContext): Promise<void> {
  const { printer, service } = tour;
  printer.part(
    "An unwanted subscription",
    "A handler calls ctx.unsubscribe. The next delivery is answered 422, and that makes",
    "the service delete the subscription. No error of a handler is ever answered so.",
  );
  await show(tour, toClosed("m-4"));
  const status = await service.deliver(toClosed("m-5"));
  const then = service.deleted.has(4099) ? "the service deletes it" : "the service keeps it";
  printer.row(wire.labelOf(toClosed("m-5")), status, { what: "subscription 4099", text: then });
  const none = await service.deliver(toClosed("m-6"));
  const sent = none === undefined ? "not sent any more" : "sent after all";
  printer.row(wire.labelOf(toClosed("m-6")), none, { what: "", text: sent });
}

function toClosed(id: string): wire.Delivery {
  return { ...wire.change(wire.EMAIL, "created", id), subscription: 4099, accountId: CLOSED_ACCOUNT };
}
