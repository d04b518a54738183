import { monitorEventLoopDelay } from "node:perf_hooks";
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
  const receiver = createReceiver({ secret: SECRET, inbox: openInbox(file), log: false });
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const wait = (): Promise<void> => {
    begun.resolve();
    return gate.promise;
  };
  receiver.on("email", wait, { timeoutMs: 0, coalesce: false });
  return { receiver, gate, begun: begun.promise };
}

const before = open();
await before.receiver.start();
await fill(before.receiver, { jobs, lanes: jobs });
before.gate.resolve();
await before.receiver.close({ drainMs: 0 });

await collect();
const used = await usedBytes();
const after = open();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const startedAt = performance.now();
await after.receiver.start();
await after.begun;
const ms = performance.now() - startedAt;
delay.disable();
tell({ jobs, ms, stallMs: delay.max / 1e6, bytes: ((await usedBytes()) - used) / jobs });
process.exit();
