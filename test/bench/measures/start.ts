import { fork } from "node:child_process";
import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createReceiver } from "../../../src/index.ts";
import { SECRET } from "../signing.ts";
import { inboxFile, openInbox } from "./inbox.ts";
import { readSizes, sendResult, usedBytes } from "./send-result.ts";
import { fill } from "./stored.ts";

// A process starts on a file with a backlog, each job in its own lane: time until the first handler runs, and the longest stall of the event loop.
const [jobs = 0] = readSizes();
const toFill = process.env["HOOKLINE_BENCH_FILL"];
if (toFill === undefined) await measure();
else await makeBacklog(toFill);
process.exit();

function open(file: string) {
  const inbox = openInbox(file);
  const receiver = createReceiver({ secret: SECRET, inbox, log: false });
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const wait = (): Promise<void> => {
    begun.resolve();
    return gate.promise;
  };
  receiver.on("email", wait, { timeoutMs: 0, merge: false });
  return { receiver, inbox, gate, begun: begun.promise };
}

async function measure(): Promise<void> {
  const file = inboxFile();
  if (file === undefined) throw new Error("This measure needs the SQLite inbox.");
  const env = { ...process.env, HOOKLINE_BENCH_FILL: file };
  const [code] = (await once(fork(fileURLToPath(import.meta.url), [String(jobs)], { env }), "exit")) as [number | null];
  if (code !== 0) throw new Error(`The process that makes the backlog ended with ${code}.`);
  const used = await usedBytes();
  const { receiver, begun } = open(file);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const startedAt = performance.now();
  await receiver.start();
  await begun;
  const ms = performance.now() - startedAt;
  delay.disable();
  sendResult({ jobs, ms, stallMs: delay.max / 1e6, bytes: ((await usedBytes()) - used) / jobs });
}

/** Stores and expands the backlog. In a child process, so that its memory does not count. */
async function makeBacklog(file: string): Promise<void> {
  const { receiver: filled, inbox, gate } = open(file);
  await filled.start();
  await fill(filled, { jobs, lanes: jobs });
  while (inbox.stats().unexpanded > 0) await turn();
  gate.resolve();
  await filled.close({ drainMs: 0 });
}
