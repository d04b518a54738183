import { setImmediate as turn } from "node:timers/promises";
import { PQueue } from "../../support/p-queue.ts";
import { readSizes, sendResult, usedBytes } from "./send-result.ts";
import { CONCURRENCY, fill, openBench } from "./stored.ts";

// Expanded jobs, each in its own lane, wait behind handlers that do not end; then all of them run.
const [jobs = 0, entries = 1] = readSizes();
const mostHeld = watchQueues();
const { receiver, inbox } = openBench();
const gate = Promise.withResolvers<void>();
receiver.on("email", () => gate.promise, { timeoutMs: 0 });

const before = await usedBytes();
const bodyBytes = await fill(receiver, { jobs, lanes: jobs, entries });
await receiver.start();
while (inbox.stats().unexpanded > 0) await turn();
const usedForAll = (await usedBytes()) - before;

gate.resolve();
await receiver.idle();
const { succeeded } = receiver.stats();
await receiver.close();
if (succeeded !== jobs) throw new Error(`${succeeded} jobs were done, expected ${jobs}.`);
sendResult({
  jobs,
  bytes: usedForAll / jobs,
  bytesBeside: (usedForAll - bodyBytes) / jobs,
  held: mostHeld(),
  heldOfConcurrency: mostHeld() / CONCURRENCY,
});

/** Observes p-queue. @returns the most tasks that one queue held, waiting and running */
function watchQueues(): () => number {
  let most = 0;
  const { add } = PQueue.prototype;
  PQueue.prototype.add = function watched(this: PQueue, ...given: Parameters<typeof add>) {
    const added = add.apply(this, given);
    most = Math.max(most, this.size + this.pending);
    return added;
  } as typeof add;
  return () => most;
}
