import { Queue, Worker } from "bullmq";
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createAppClient } from "../../../src/cli/serve/app-client.ts";
import { toEventRequest } from "../../../src/cli/serve/event-request.ts";
import { forwardEvents } from "../../../src/cli/serve/forward-events.ts";
import { createReceiver } from "../../../src/index.ts";
import { sample } from "../../../src/testing.ts";
import { findCores } from "../machine.ts";
import { startQueueServer } from "../postgres/queue-server.ts";
import { SECRET } from "../signing.ts";
import { openInbox } from "./inbox.ts";
import { readSizes, sendResult, watchCpu, type MeasureResult } from "./send-result.ts";
import { fill, toId } from "./stored.ts";

// Stored events, handed to an app by signed requests: from the start to the last answer. What hands over has a core of its own; the app, and
// Redis, have the other one.
const AT_ONCE = 50;
/** `findCores` looks whether it is there. */
const PIN = "taskset";
const secrets = [Buffer.alloc(32, "k")];

/** Hands over so many events. */
type Forward = (url: string, jobs: number) => Promise<MeasureResult>;

const forward: Forward = async (url, jobs) => {
  const receiver = createReceiver({ secret: SECRET, inbox: openInbox(), concurrency: AT_ONCE, log: false });
  const targets = [{ name: "default", url }];
  const usual = { only: undefined, timeoutMs: 30_000, allowLinkLocal: false };
  const close = forwardEvents(receiver, { targets, secrets, concurrency: AT_ONCE, ...usual });
  await fill(receiver, { jobs, lanes: jobs });
  const result = await timed(jobs, async () => {
    await receiver.start();
    await receiver.idle();
  });
  const { succeeded } = receiver.stats();
  await receiver.close();
  close();
  if (succeeded !== jobs) throw new Error(`${succeeded} events were handed over, expected ${jobs}.`);
  return result;
};

/** The same request, over the same client: what differs is the queue. */
const forwardByBullmq: Forward = async (url, jobs) => {
  pin("client"); // which Redis inherits
  const server = await startQueueServer("redis");
  pin("server");
  const connection = { url: server.connection, maxRetriesPerRequest: null };
  const queue = new Queue("events", { connection });
  const client = createAppClient({ url, connections: AT_ONCE, lookup: undefined });
  const { signal } = new AbortController();
  const opts = { removeOnComplete: true };
  for (let first = 0; first < jobs; first += 1_000) {
    const part = Array.from({ length: Math.min(1_000, jobs - first) }, (_, index) => toId(first + index));
    await queue.addBulk(part.map((id) => ({ name: "event", data: sample("email.updated", { id }), opts })));
  }
  let done = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const worker = new Worker(
    "events",
    async ({ data, id = "" }) => {
      const facts = { attempt: 1, merged: 1, idempotencyKey: id };
      const { headers, body } = toEventRequest(data, facts, { secrets, now: Date.now() });
      const { status } = await client.post(headers, body, signal);
      if (status !== 200) throw new Error(`answered ${status}`);
    },
    { connection, concurrency: AT_ONCE, autorun: false },
  );
  worker.on("completed", () => (done += 1) === jobs && resolve());
  const result = await timed(jobs, async () => {
    void worker.run();
    await promise;
  });
  await worker.close();
  await queue.close();
  client.close();
  await server.remove();
  return result;
};

/** All threads of a process, and what it starts. */
function pin(to: "server" | "client", pid = process.pid): void {
  if (cores !== undefined) execFileSync(PIN, ["-acp", String(cores[to]), String(pid)], { stdio: "ignore" });
}

async function timed(jobs: number, run: () => Promise<void>): Promise<MeasureResult> {
  const cpuUs = await watchCpu();
  const startedAt = performance.now();
  await run();
  const ms = performance.now() - startedAt;
  return { jobs, ms, perSecond: (jobs * 1_000) / ms, cpuUs: cpuUs() / jobs };
}

const [jobs = 0, kind = 0] = readSizes();
const cores = findCores();
const app = fork(fileURLToPath(new URL("../servers/forwarded-app.ts", import.meta.url)), { stdio: "ignore" });
const [port] = (await once(app, "message")) as [number];
pin("client", app.pid);
pin("server");
const measured = [forward, forwardByBullmq][kind]!;
const url = `http://127.0.0.1:${port}/events`;
await measured(url, Math.min(jobs, 3_000));
sendResult(await measured(url, jobs));
app.kill();
process.disconnect?.();
