import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createReceiver } from "../../../src/index.ts";
import { toQuantile } from "../figures.ts";
import { SECRET } from "../signing.ts";
import { inboxFile, openInbox } from "./inbox.ts";
import { readSizes, sendResult } from "./send-result.ts";
import { deliver } from "./stored.ts";

/** Pause between two deliveries. */
const PAUSE_MS = 15;

// From receipt to handler while idle: received by this process, or by another one on the same file.
const [count = 0, others = 0] = readSizes();
const parentFile = process.env["HOOKLINE_BENCH_FILE"];
const file = parentFile ?? inboxFile();
const receiver = createReceiver({ secret: SECRET, inbox: openInbox(file), log: false });

/** The record's id is the time of receipt, by a clock that all processes share. */
const now = (): number => performance.timeOrigin + performance.now();
async function send(): Promise<void> {
  for (let sent = 0; sent < count; sent += 1) {
    await sleep(PAUSE_MS);
    const payloads = [{ id: String(now()), changeType: "updated" }];
    await deliver(receiver, JSON.stringify({ subscription: 1, accountId: 2, resource: "/email/messages", payloads }));
  }
}

async function handle(): Promise<void> {
  const waits: number[] = [];
  receiver.on("email", ({ id }) => void waits.push(now() - Number(id)));
  await receiver.start();
  if (others === 0) await send();
  else {
    const env = { ...process.env, HOOKLINE_BENCH_FILE: file };
    await once(fork(fileURLToPath(import.meta.url), [String(count), "0"], { env }), "exit");
  }
  while (waits.length < count) await sleep(1);
  await receiver.close();
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => toQuantile(waits, share)) as [number, number, number];
  sendResult({ jobs: waits.length, p50Ms, p99Ms, maxMs });
}

if (parentFile === undefined) await handle();
else await send().then(() => receiver.close());
if (parentFile !== undefined) process.exit();
