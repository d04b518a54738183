// Tests handlers with any test runner or none: a handler alone, then the receiver without a socket.
// Try it: node testing.ts
import { deepEqual, equal } from "node:assert/strict";
import { createReceiver, memoryInbox, type Context, type EventOf } from "hookline";
import { deliver, fakeContext, sample, testClock } from "hookline/testing";

const api = { isUp: true, fetched: [] as string[] };

async function onEmail(event: EventOf<"email">, ctx: Context): Promise<void> {
  if (!api.isUp) throw new Error("the API is down");
  if (event.accountId === 99) return ctx.unsubscribe("the account is closed");
  api.fetched.push(event.id);
}

// A handler is a function: call it.
await onEmail(sample("email.created", { id: "m-1" }), fakeContext());
deepEqual(api.fetched, ["m-1"]);
const ctx = fakeContext();
await onEmail(sample("email.updated", { accountId: 99 }), ctx);
deepEqual(ctx.unsubscribed, ["the account is closed"]);

// Through the receiver: signed, verified, stored, handled, and retried for hours that pass in a millisecond.
const secret = process.env["SIGNING_SECRET"] ?? "any";
const clock = testClock();
const receiver = createReceiver({ secret, inbox: memoryInbox(), clock, log: false }).on("email", onEmail);
api.isUp = false;
clock.setTimer(() => (api.isUp = true), 3_600_000);
const delivery = await deliver(receiver, sample("email.created", { id: "m-2" }), { secret });
const [job] = await delivery.settled();
equal(delivery.status, 200);
equal(job?.state, "done");
deepEqual(api.fetched, ["m-1", "m-2"]);

console.log(`all as expected, after ${receiver.stats().failed} attempts that failed`);
await receiver.close();
