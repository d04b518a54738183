// A receiver's own verbs, and the inboxes it may stand on.
import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import type { Inbox, MountOptions, RawRequest, Receiver, Reply, StorageKind, StoredDelivery } from "hookline";
import type { Equal, Expect, Fits } from "./support.ts";

declare const chance: boolean;
declare const queue: { add(data: unknown): Promise<string>; addAll(data: readonly StoredDelivery[]): Promise<void> };

await using receiver = createReceiver({ secret: "s", inbox: memoryInbox() });
export type StoreResult = [
  Expect<Equal<typeof receiver, Receiver<"memory">>>,
  Expect<Equal<typeof receiver.storage, "memory">>,
  Expect<Equal<StorageKind, "memory" | "disk" | "network">>,
];

// A receiver that keeps in one place stands for one that keeps anywhere, never the other way round.
export type Variance = [
  Expect<Fits<Receiver<"memory">, Receiver>>,
  Expect<Fits<Receiver<"memory">, Receiver<"memory" | "disk">>>,
  Expect<Equal<Fits<Receiver, Receiver<"memory">>, false>>,
  Expect<Equal<Fits<Receiver<"memory">, Receiver<"network">>, false>>,
  Expect<Fits<Inbox<"memory">, Inbox>>,
  Expect<Equal<Fits<Inbox, Inbox<"disk">>, false>>,
];
export const any: Receiver = receiver;

// Registering gives the same receiver back, with what it keeps.
export const chained: Receiver<"memory"> = receiver
  .on("email", () => {})
  .use((_event, _ctx, next) => next())
  .onDead((job) => job.id)
  .unsubscribeWhen(() => undefined);

// A queue of one's own keeps in the network unless it says otherwise.
const ofNetwork: Inbox<"network"> = forwardInbox(async (deliveries) => {
  for (const delivery of deliveries) await queue.add(delivery);
});
const ofDisk: Inbox<"disk"> = forwardInbox((deliveries) => queue.addAll(deliveries), { storage: "disk" });
export const forwarding: Receiver<"network"> = createReceiver({ secret: "s", inbox: ofNetwork });
export const spooling: Receiver<"disk"> = createReceiver({ secret: "s", inbox: ofDisk });
export const inboxes: readonly Inbox[] = [memoryInbox(), ofNetwork, ofDisk, forwardInbox(queue.addAll, {})];

// Its life.
await receiver.start();
await receiver.idle();
await receiver.unsubscribe(1001, "left");
await receiver.unsubscribe("1001", "left"); // as the service gives it
await receiver.unsubscribe(1001, "left", { source: "shop" });
await receiver.resubscribe(1001);
await receiver.resubscribe(1001, { source: "shop" });
await receiver.close();
await receiver.close({});
await receiver.close({ drainMs: chance ? 1_000 : undefined });
export type Closing = Expect<
  Fits<
    Awaited<ReturnType<Receiver["close"]>>,
    { readonly done: number; readonly released: number; readonly stuck: number }
  >
>;

// A request made by hand, as a mount of one's own makes it: bytes, a stream, or a way to read.
const requests: readonly RawRequest[] = [
  { method: "POST", url: "/webhooks?a=b", headers: { a: "b", c: ["d", "e"], f: undefined }, body: new Uint8Array(1) },
  { method: "POST", url: "/", headers: {}, body: Buffer.from("{}"), source: "shop", platform: { env: 1 } },
  { method: "POST", url: "/", headers: {}, body: (async function* () {})() },
  { method: "POST", url: "/", headers: {}, body: async ({ maxBytes }) => new Uint8Array(maxBytes) },
  { method: "POST", url: "/", headers: {}, body: readWithin },
];
async function readWithin(limits: { readonly maxBytes: number; readonly signal: AbortSignal }): Promise<Uint8Array> {
  limits.signal.throwIfAborted();
  return new Uint8Array(limits.maxBytes);
}
for (const request of requests) {
  await receiver.receive(request);
  request.source?.toUpperCase() satisfies string | undefined;
}
export const toResponse = ({ status, headers, body }: Reply): Response => new Response(body, { status, headers });
type Status = 200 | 400 | 401 | 405 | 408 | 413 | 415 | 422 | 500 | 503;
export type Replies = [
  Expect<Equal<Reply["status"], Status>>,
  Expect<
    Equal<Reply, { readonly status: Status; readonly headers: Readonly<Record<string, string>>; readonly body: string }>
  >,
];

/** A receiver in the place of another, for a test of one's own mount: it may ask for the body as the real one does. */
export const fake: Pick<Receiver, "receive"> = {
  async receive({ body }) {
    if (typeof body === "function") await body({ maxBytes: 1_000, signal: AbortSignal.timeout(100) });
    return { status: 200, headers: {}, body: "" };
  },
};
export const mountOptions: MountOptions = { path: process.env["HOOK_PATH"], source: chance ? "shop" : undefined };
export const mountOptionsOf: MountOptions<{ readonly tenant: string }> = { source: (request) => request.tenant };

// A delivery from one's own queue: plain JSON, there and back.
type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [key: string]: Json };
export type Plain = Expect<Fits<{ [K in keyof StoredDelivery]: StoredDelivery[K] }, Json>>;
const delivery = JSON.parse(JSON.stringify({ id: "1" })) as StoredDelivery;
await receiver.handle(delivery);
await receiver.handle({ ...delivery, source: "shop" }, { signal: AbortSignal.timeout(1_000) });
await receiver.handle(delivery, {});

// @ts-expect-error -- what may keep anywhere is not known to keep in the network
export const assume = (given: Receiver): Receiver<"network"> => given;
// @ts-expect-error -- `store` promises that they are stored
forwardInbox((deliveries) => void queue.addAll(deliveries));
// @ts-expect-error -- there is no such place
forwardInbox(queue.addAll, { storage: "cloud" });
// @ts-expect-error -- an id is a number or its text
await receiver.unsubscribe({ id: 1001 }, "left");
// @ts-expect-error -- unsubscribing wants its reason
await receiver.unsubscribe(1001);
// @ts-expect-error -- the budget stands in an object, with its unit
await receiver.close(20_000);
// @ts-expect-error -- the budget stands with its unit
await receiver.close({ drain: 20 });
// @ts-expect-error -- a body that a parser made is no body
await receiver.receive({ method: "POST", url: "/", headers: {}, body: { subscription: 1 } });
// @ts-expect-error -- nor is a text: the signature is over the bytes
await receiver.receive({ method: "POST", url: "/", headers: {}, body: "{}" });
// @ts-expect-error -- without its headers nothing can be verified
await receiver.receive({ method: "POST", url: "/", body: new Uint8Array(0) });
// @ts-expect-error -- the queue's text must be parsed
await receiver.handle(JSON.stringify(delivery));
// @ts-expect-error -- an event is not the delivery that brought it
await receiver.handle({ type: "booking", subscription: 1, accountId: 2, resource: "/booking/935" });
// @ts-expect-error -- only exactly 200 acknowledges: no other success is answered
export const accepted = (reply: Reply): boolean => reply.status === 202;
