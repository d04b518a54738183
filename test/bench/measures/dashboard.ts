import { setImmediate as turn } from "node:timers/promises";
import { fetchDashboard } from "../../../src/dashboard.ts";
import { createReceiver, GiveUp } from "../../../src/index.ts";
import { toQuantile } from "../figures.ts";
import { SECRET } from "../signing.ts";
import { openInbox } from "./inbox.ts";
import { readSizes, sendResult } from "./send-result.ts";
import { deliver } from "./stored.ts";

const ENTRIES = 1_000;
const LOOKS = 50;
/** Deliveries that are answered with viewers, and without. */
const ANSWERS = 2_000;
/** Each looks once a second, the least that a page may be told to. */
const VIEWERS = 5;
const VIEWS = ["now", "dead", "dead?type=email.updated&consumer=default", "lanes", "subscriptions"];

// Jobs that are all dead, and pages that look at them while deliveries come.
const [jobs = 0] = readSizes();
const inbox = openInbox();
const receiver = createReceiver({ secret: SECRET, inbox, log: false });
receiver.on("email", () => {
  throw new GiveUp("never");
});
await receiver.start();
for (let stored = 0; stored < jobs; stored += ENTRIES) {
  await deliver(receiver, bodyOf(stored, ENTRIES));
  while (inbox.stats().waiting + inbox.stats().unexpanded > 20 * ENTRIES) await turn();
}
while (inbox.stats().dead < jobs) await turn();

// A dashboard of its own for each look: none is shared with the one before.
const looked = await look("dead");
const polls: number[] = [];
let bytes = looked.bytes;
for (let count = 0; count < LOOKS; count += 1) {
  const one = await look(VIEWS[count % VIEWS.length] ?? "now");
  polls.push(one.ms);
  bytes = Math.max(bytes, one.bytes);
}
const alone = await answerTimes();
const open = fetchDashboard(receiver, { access: () => ({ content: true }) });
const viewers = Array.from({ length: VIEWERS }, (_, index) => {
  const view = VIEWS[index % VIEWS.length] ?? "now";
  return setInterval(() => void open(new Request(`http://localhost/api/${view}`)), 1_000);
});
const seen = await answerTimes();
for (const timer of viewers) clearInterval(timer);
sendResult({
  jobs,
  firstMs: looked.ms,
  pollMs: toQuantile(polls, 0.99),
  bytes,
  p99Ms: toQuantile(alone, 0.99),
  addedMs: toQuantile(seen, 0.99) - toQuantile(alone, 0.99),
});
await receiver.close();

async function look(view: string) {
  const dashboard = fetchDashboard(receiver, { access: () => ({ content: true }) });
  const startedAt = performance.now();
  const answer = await dashboard(new Request(`http://localhost/api/${view}`));
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${view} was answered ${answer.status}: ${text}`);
  return { ms: performance.now() - startedAt, bytes: text.length };
}

/** Of deliveries a few milliseconds apart, milliseconds. */
async function answerTimes(): Promise<readonly number[]> {
  const times: number[] = [];
  for (let count = 0; count < ANSWERS; count += 1) {
    const startedAt = performance.now();
    await deliver(receiver, bodyOf(count, 1));
    times.push(performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  return times;
}

function bodyOf(first: number, entries: number): string {
  const payloads = Array.from({ length: entries }, (_, index) => ({ id: `m-${first + index}`, changeType: "updated" }));
  return JSON.stringify({ subscription: 1001, accountId: 2002, resource: "/email/messages", payloads });
}
