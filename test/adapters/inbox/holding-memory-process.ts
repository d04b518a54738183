import { createHash } from "node:crypto";
import { createJobCache, HELD_BYTES } from "../../../adapters/inbox/sqlite/work/job-cache.ts";
import { toRow } from "../../../adapters/inbox/sqlite/work/row-encoding.ts";
import { eventsOf, parseDocument } from "../../../src/protocol/envelope.ts";

// Holds deliveries of so many entries until no more may be held, and says how much of the cap these take. Started with --expose-gc.
const entries = Number(process.argv[2]);
/** A body is a part of what came with it from the socket: the head of its request. */
const HEAD_BYTES = 350;

function deliveryOf(index: number) {
  const payloads = Array.from({ length: entries }, (_, entry) => ({
    id: `${"A".repeat(110)}${index}-${entry}`,
    changeType: "updated",
  }));
  const text = JSON.stringify({
    subscription: 1001,
    accountId: 2002,
    resource: "/email/messages",
    payloads,
    padding: "",
  });
  const chunk = Buffer.from(new ArrayBuffer(HEAD_BYTES + Math.max(text.length, 300)), HEAD_BYTES);
  chunk.fill(" ").write(text);
  const signature = createHash("sha256").update(text).digest("hex");
  const headers = {
    "x-aurinko-signature": signature,
    "x-aurinko-request-timestamp": String(index),
    "content-type": "application/json",
  };
  return {
    receivedAt: Date.now(),
    sentAt: Date.now(),
    source: undefined,
    signedBy: "default",
    signature,
    headers,
    body: chunk,
  };
}

/** Two pauses: what only the collector of buffers frees goes in the background. */
async function bytesUsed(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function fill(): number {
  const cache = createJobCache();
  caches.push(cache);
  for (let id = 1; ;) {
    const delivery = deliveryOf(id);
    const events = eventsOf(parseDocument(delivery.body));
    const hold = cache.hold(delivery, events.length);
    if (hold === undefined) return cache.size;
    for (const [entry, event] of events.entries()) {
      const origin = { id, delivery: 1, entry, receivedAt: 1, isMarked: false };
      cache.add(
        toRow(
          { state: "waiting", consumer: "default", lane: undefined, mergeKey: undefined },
          { ...origin, held: { hold, event } },
        ),
      );
      id += 1;
    }
  }
}

const caches: ReturnType<typeof createJobCache>[] = [];
fill();
caches.length = 0; // what is compiled and cached by now is not counted
const before = await bytesUsed();
const jobs = fill();
const taken = (await bytesUsed()) - before;
console.log(JSON.stringify({ jobs, share: taken / HELD_BYTES }));
