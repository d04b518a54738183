import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";
import { createReceiver } from "../../../src/index.ts";
import { toQuantile } from "../figures.ts";
import { SECRET } from "../signing.ts";
import { inboxFile, openInbox } from "./inbox.ts";
import { readSizes, sendResult } from "./send-result.ts";
import { deliver } from "./stored.ts";

/** Of a body, with 1,000 entries. */
const ENTRY_BYTES = 100;

/** Deliveries before the measurement, of a tenth of the entries. */
const WARM_UP = 20;

// Deliveries of entries that nobody handles: what they take on disk, and the time until all of it is stored.
const [entries = 0, deliveries = 0] = readSizes();
const file = inboxFile();
if (file === undefined) throw new Error("This measure needs the SQLite inbox.");
const inbox = openInbox(file);
const receiver = createReceiver({ secret: SECRET, inbox, log: false });
receiver.on("tracking", () => {});
await receiver.start();
for (let count = 0; count < WARM_UP; count += 1) await store(entries / 10);

const before = bytesOf(file);
const answered: number[] = [];
const expanded: number[] = [];
for (let count = 0; count < deliveries; count += 1) {
  const { answeredMs, ms } = await store(entries);
  answered.push(answeredMs);
  expanded.push(ms);
}
const bytes = (bytesOf(file) - before) / deliveries;
await receiver.close();
sendResult({
  jobs: entries,
  mb: bytes / 1e6,
  bytesBeside: (bytes - bodyOf(entries).length) / entries,
  answeredMs: toQuantile(answered, 0.5),
  ms: toQuantile(expanded, 0.5),
});

async function store(count: number) {
  const body = bodyOf(count);
  const expected = inbox.stats().unhandled + count;
  const startedAt = performance.now();
  await deliver(receiver, body);
  const answeredMs = performance.now() - startedAt;
  while (inbox.stats().unhandled < expected) await turn();
  return { answeredMs, ms: performance.now() - startedAt };
}

function bodyOf(count: number): string {
  const payloads = Array.from({ length: count }, (_, index) => {
    const entry = { id: `m-${String(index).padStart(8, "0")}`, changeType: "updated", attributes: { threadId: "" } };
    entry.attributes.threadId = "x".repeat(Math.max(0, ENTRY_BYTES - 1 - JSON.stringify(entry).length));
    return entry;
  });
  return JSON.stringify({ subscription: 1001, accountId: 2002, resource: "/email/messages", payloads });
}

/** File and log, with everything of the log in the file. */
function bytesOf(path: string): number {
  const db = new DatabaseSync(path, { timeout: 1_000 });
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  return [path, `${path}-wal`].reduce((sum, one) => sum + (statSync(one, { throwIfNoEntry: false })?.size ?? 0), 0);
}
