import { setImmediate as turn } from "node:timers/promises";
import { createReceiver, GiveUp, memoryInbox, type Inbox, type Logger, type Receiver } from "hookline";
import { sample, signedDelivery, type Sendable } from "hookline/testing";
import { internalsOf } from "../../src/receiver/internals.ts";

export const TROUBLED_SECRET = "a signing secret";

export interface Trouble {
  readonly inbox?: Inbox | undefined;
  readonly log?: Logger | undefined;
  /** Dead jobs of `email.created` beside the others. @default 0 */
  readonly dead?: number | undefined;
  /** What ids, errors and names have in them. @default nothing */
  readonly mark?: ((what: string) => string) | undefined;
}

/** A receiver with something in each view of the dashboard: dead jobs of several kinds, blocked lanes, a tombstone, an error, a gap. */
export async function troubledReceiver({ inbox = memoryInbox(), log, dead = 0, mark = String }: Trouble = {}) {
  const receiver: Receiver = createReceiver({ secret: TROUBLED_SECRET, inbox, log: log ?? false });
  const fail = (error: Error) => () => {
    throw error;
  };
  receiver.on("email.created", fail(new TypeError(mark("Cannot read properties of undefined (reading 'subject')"))), {
    consumer: "crm",
    attempts: 1,
  });
  receiver.on("email.updated", fail(new Error(mark("connect ECONNREFUSED 10.0.0.7:5432"))), { consumer: "search" });
  receiver.on("booking", fail(new GiveUp(mark("no such page"))), { consumer: "crm" });
  receiver.on("contact.created", () => {}, { consumer: "crm" });
  await receiver.start();
  const send = async (event: Sendable) => {
    const { status } = await receiver.receive(signedDelivery(event, { secret: TROUBLED_SECRET }));
    if (status !== 200) throw new Error(`The delivery was answered ${status}.`);
  };
  for (let account = 2002; account < 2005; account += 1) {
    await send(sample("email.created", { id: mark(`m-${account}`), accountId: account }));
    await send(sample("email.updated", { id: mark(`u-${account}`), accountId: account }));
    await send(sample("email.updated", { id: mark(`u-${account}`), accountId: account }));
    await send(sample("booking", { eventId: mark(`b-${account}`), accountId: account }));
  }
  await send(sample("contact.created", { id: mark("c-1") }));
  await send(sample("task.created", { id: mark("t-1") }));
  await send({
    wire: {
      subscription: 1003,
      accountId: 2003,
      resource: `/calendars/${encodeURIComponent(mark("ada@example.com"))}/events`,
      lifecycleEvent: "error",
      error: mark("The token was revoked"),
    },
  });
  const AT_ONCE = 500;
  for (let sent = 0; sent < dead; sent += AT_ONCE) {
    const payloads = Array.from({ length: Math.min(AT_ONCE, dead - sent) }, (_, place) => ({
      id: mark(`d-${sent + place}`),
      changeType: "created",
    }));
    await send({
      wire: { subscription: 1001, accountId: 2002, resource: "/email/messages", payloads },
    });
  }
  const DEAD = 6; // three mails and three bookings
  while ((await receiver.health()).dead < DEAD + dead) await turn();
  await receiver.unsubscribe(1777, mark("The customer left us"));
  const now = Date.now();
  await internalsOf(receiver).gaps.record([
    {
      source: undefined,
      subscription: 1004,
      accountId: 2004,
      resource: `/calendars/${mark("grace@example.com")}/events`,
      cause: "down",
      from: now - 3_600_000,
      until: now - 600_000,
    },
  ]);
  return receiver;
}
