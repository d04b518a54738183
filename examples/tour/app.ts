import type { Server } from "node:http";
import express from "express";
import { createReceiver, type AnyEvent, type Observer, type Receiver } from "hookline";
import { expressReceiver } from "hookline/express";
import { sqliteInbox } from "hookline/sqlite";

/** Its user has left, but the subscription still sends. */
const CLOSED_ACCOUNT = 2002;

/** Its first fetches fail. */
export const LOCKED_TASK = "t-2";

/** The app of the tour: an Express app with a receiver in it, as a user would write it. */
export interface App {
  readonly receiver: Receiver;
  /** The handler of a message waits for this: the tour uses it to keep a handler busy. */
  readonly busy: Map<string, Promise<void>>;
  listen(): Promise<Server>;
}

/** Prints what a real app would do. */
export type Print = (event: AnyEvent, text: string) => void;

/** The inbox's file and the signing secret. */
export interface AppOptions {
  readonly file: string;
  readonly secret: string;
}

/** Handlers first, then the mount, then the start. */
export function createApp({ file, secret }: AppOptions, print: Print, observer: Observer): App {
  const busy = new Map<string, Promise<void>>();
  // Without a logger: the tour prints what a log would.
  const receiver = createReceiver({ secret, inbox: sqliteInbox(file), log: false });
  receiver.observe(observer);

  // Each event's type follows from its name: there is an `event.calendarId` for calendars, and for nothing else.
  receiver.on(["email.created", "email.updated"], async (event, ctx) => {
    if (event.accountId === CLOSED_ACCOUNT) {
      await ctx.unsubscribe("the account is closed");
      return print(event, "calls ctx.unsubscribe");
    }
    print(event, ctx.merged > 1 ? `fetch ${event.id}, for all ${ctx.merged}` : `fetch ${event.id}`);
    await busy.get(event.id);
  });
  receiver.on("email.deleted", (event) => print(event, `look whether ${event.id} is gone`));
  receiver.on("contact", (event) => print(event, `fetch ${event.id}`));
  receiver.on("calendarEvent", (event) => print(event, `fetch ${event.id} of ${event.calendarId}`));
  receiver.on("calendarEvent.signal", (event) => print(event, `sync all of ${event.calendarId}`));
  receiver.on("task", (event, ctx) => {
    if (event.id === LOCKED_TASK && ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt}: it is locked`);
    print(
      event,
      ctx.attempt > 1 ? `attempt ${ctx.attempt}: fetch ${event.id}` : `fetch ${event.id} of ${event.taskListId}`,
    );
  });
  receiver.on("tracking", (event) => print(event, `about mail ${event.trackingId}`));
  receiver.on("tracking.open", (event) =>
    print(event, `mail ${event.trackingId}, in ${event.location ?? "some place"}`),
  );
  receiver.on("booking", (event) => print(event, `${event.eventId}, by page ${event.bookingId}`));
  receiver.on("lifecycle.error", (event) => print(event, event.error));
  receiver.on("lifecycle.active", (event) => print(event, "the subscription works again"));
  receiver.on("unknown", (event) => print(event, `stored: ${event.reason} not known`));

  const app = express();
  app.post("/webhooks", expressReceiver(receiver)); // above any body parser: the signature is over the raw bytes
  app.use(express.json());

  return {
    receiver,
    busy,
    async listen() {
      await receiver.start();
      return new Promise((resolve, reject) => {
        const server = app.listen(0, "127.0.0.1", (error) => (error === undefined ? resolve(server) : reject(error)));
      });
    },
  };
}
