// Registering: what a handler's argument becomes, and what may be registered under what.
import type { AnyEvent, Context, EventMap, EventName, EventOf, Handler, HandlerOptions, Receiver } from "hookline";
import type { Equal, Expect } from "./support.ts";

declare const receiver: Receiver;
declare const chance: boolean;

/** Tells what a handler was given. */
type Given<F extends (event: never, ctx: never) => unknown> = Parameters<F>;

// The event follows from the name, from a list of names, and from names held elsewhere.
receiver.on("email.created", (...given) => given satisfies [EventMap["email.created"], Context]);
receiver.on(["email.created", "booking"], (event) => {
  const type: "email.created" | "booking" = event.type;
  return event.type === "booking" ? event.bookingId : [event.id, type];
});
receiver.on(["email", "tracking.open"], (event) =>
  event.type === "tracking.open" ? event.location : event.changeType,
);
receiver.on("*", (event) => ("id" in event ? event.id : event.resource));
receiver.on("unknown", (event) => `${event.reason} ${event.accountId ?? "of nobody"}`);
receiver.on("calendarEvent.changes", ({ calendarId, changes, signalled }) => [calendarId, changes[0]?.id, signalled]);
receiver.on("email", ({ changeType }) => {
  switch (changeType) {
    case "created":
    case "updated":
    case "deleted":
      return changeType satisfies string;
  }
});
const names = ["contact", "task.deleted"] as const;
receiver.on(names, (event) => event.id);
const computed: EventName[] = ["contact"];
receiver.on(computed, (event) => event.type);

export type HandlerArguments = [
  Expect<Equal<Given<Handler<EventOf<"email">>>, [event: EventOf<"email">, ctx: Context]>>,
  Expect<Equal<Given<Handler>, [event: AnyEvent, ctx: Context]>>,
];

// A handler is typed by its event, so one for more fits a name for less.
const ofEmail: Handler<EventOf<"email">> = (event) => event.id;
const ofAll: Handler = async (event, ctx) => ctx.log.info({ type: event.type });
receiver.on("email.created", ofEmail).on(["email.updated", "email.deleted"], ofEmail);
receiver.on("contact", ofAll).on("task.changes", ofAll).on("unknown", ofAll);
const ofAccounts = ({ accountId }: { readonly accountId: number }): number => accountId;
receiver.on("*", ofAccounts).on("email.changes", ofAccounts);
receiver.on("email", () => {}).on("contact", async () => {});

/** A wrapper that is generic over the name. */
export function timed<const N extends EventName>(
  name: N | readonly N[],
  handler: Handler<EventOf<N>>,
  options?: HandlerOptions<EventOf<N>>,
): Receiver {
  return receiver.on(name, async (event, ctx) => void (await handler(event, ctx)), options);
}
timed("email.created", (event) => event.id satisfies string);
timed(["booking", "lifecycle.error"], (event) => event.type, { lane: (event) => String(event.subscription) });

// Every option takes `undefined`, and the lane's function is given the same event as the handler.
receiver.on("email", ofEmail, {
  consumer: chance ? "search" : undefined,
  lane: chance ? "account" : undefined,
  merge: chance ? false : undefined,
  attempts: chance ? 3 : undefined,
  retryForMs: chance ? 60_000 : undefined,
  timeoutMs: chance ? 0 : undefined,
});
receiver.on("email", ofEmail, undefined).on("email", ofEmail, {});
receiver.on("booking", () => {}, { lane: (event) => `${event.calendarId}/${event.bookingId}` });
for (const lane of ["record", "resource", "account", "none"] as const) receiver.on("email", ofEmail, { lane });
const forAnybody: HandlerOptions<{ readonly accountId: number }> = { lane: ({ accountId }) => `a${accountId}` };
receiver.on("tracking", () => {}, forAnybody);

// @ts-expect-error -- a typing mistake in the name
receiver.on("email.create", () => {});
// @ts-expect-error -- one of several names is wrong
receiver.on(["email.created", "emails"], () => {});
// @ts-expect-error -- no handler
receiver.on("email");
// @ts-expect-error -- a signal names no record
receiver.on("email.signal", (event) => event.id);
// @ts-expect-error -- a batch is a list: each change has an id, the batch has none
receiver.on("email.changes", (event) => event.id);
// @ts-expect-error -- among everything there are signals, which have no id
receiver.on("*", (event) => event.id);
// @ts-expect-error -- a family brings single records, no batches
receiver.on("email", (event) => event.changes);
// @ts-expect-error -- only the error has a text
receiver.on("lifecycle.active", (event) => event.error);
// @ts-expect-error -- the family has both, so it must be told which
receiver.on("lifecycle", (event) => event.error);
// @ts-expect-error -- a reply says nothing of who looked
receiver.on("tracking.reply", (event) => event.userAgent);
// @ts-expect-error -- of an unknown event the account may be unknown too
receiver.on("unknown", (event) => event.accountId.toFixed());
// @ts-expect-error -- ids are numbers: a Set of texts never has one
receiver.on("email", (event) => new Set<string>().has(event.accountId));
// @ts-expect-error -- nor is a number a text
receiver.on("email", (event) => event.subscription === "1001");
// @ts-expect-error -- events are shared between handlers: nobody writes into them
receiver.on("email", (event) => (event.id = "other"));
// @ts-expect-error -- a handler for less does not fit a name for more
receiver.on("email", (event: EventOf<"email.created">) => event.changeType);
// @ts-expect-error -- a handler of one family does not fit another
receiver.on("contact", (event: EventOf<"calendarEvent">) => event.calendarId);
// @ts-expect-error -- a lane that is none of the four words
receiver.on("email", ofEmail, { lane: "accounts" });
// @ts-expect-error -- a lane's function gives a text
receiver.on("email", ofEmail, { lane: (event) => event.accountId });
// @ts-expect-error -- a lane's function is given the handler's event, which has no calendar
receiver.on("email", ofEmail, { lane: (event) => event.calendarId });
// @ts-expect-error -- an option without its unit
receiver.on("email", ofEmail, { timeout: 5 });
// @ts-expect-error -- an option of the receiver, not of a handler
receiver.on("email", ofEmail, { concurrency: 5 });
// @ts-expect-error -- a number as a text, as a variable of the environment gives it
receiver.on("email", ofEmail, { attempts: "3" });
