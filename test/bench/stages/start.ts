import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { createReceiver } from "../../../src/index.ts";
import { SECRET } from "../signing.ts";
import { fileOfStage, openInbox } from "./inbox.ts";
import { fill } from "./kept.ts";
import { collect, numbersGiven, tell, usedBytes } from "./tell.ts";

// A process starts on a file in which a backlog waits, each job a lane: until its first handler runs, and how long the loop stood still.
const [jobs = 0] = numbersGiven();
const file = fileOfStage();
if (file === undefined) throw new Error("There is a start over a backlog only where a file keeps it.");

function open() {
  const inbox = openInbox(file);
  const receiver = createReceiver({ secret: SECRET, inbox, log: false });
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const wait = (): Promise<void> => {
    begun.resolve();
    return gate.promise;
  };
  receiver.on("email", wait, { timeoutMs: 0, coalesce: false });
  return { receiver, inbox, gate, begun: begun.promise };
}

await makeBacklog();
await collect();
const used = await usedBytes();
const { receiver, begun } = open();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const startedAt = performance.now();
await receiver.start();
await begun;
const ms = performance.now() - startedAt;
delay.disable();
tell({ jobs, ms, stallMs: delay.max / 1e6, bytes: ((await usedBytes()) - used) / jobs });
process.exit();

/** All of it expanded, and none of it held by this process any more: another one starts. */
async function makeBacklog(): Promise<void> {
  const { receiver: filled, inbox, gate } = open();
  await filled.start();
  await fill(filled, { jobs, lanes: jobs });
  while (inbox.stats().unexpanded > 0) await turn();
  gate.resolve();
  await filled.close({ drainMs: 0 });
}
