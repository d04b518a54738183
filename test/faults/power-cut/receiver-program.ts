import { createReceiver, GiveUp, RetryLater, type JobState } from "hookline";
import type { Timer } from "hookline/adapter";
import { nodeReceiver } from "hookline/node";
import { sqliteInbox } from "hookline/sqlite";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as turn, setTimeout as pause } from "node:timers/promises";
import { systemClock } from "../../../src/clock.ts";
import { behaviourOf, SECRET, trackedId } from "./deliveries.ts";
import { openTraceWriter } from "./trace.ts";

// A receiver as users write it, with traced disk calls: it marks in the trace each event whose handler succeeded. It prints its port.
// `POST /erase/<account>`, `/idle`, `/forgotten` and `/close` control it.
const [file = "", trace = "", keepDoneDays = "7"] = process.argv.slice(2);
const writer = openTraceWriter(trace);
/** Retention waits until `/forgotten`, so that the file grows before it shrinks. Then it runs several times a second. */
const minutely = new Set<() => void>();

function whenForgetting(run: () => void): Timer {
  minutely.add(run);
  return { clear: () => void minutely.delete(run) };
}

function forget(): void {
  const due = [...minutely];
  minutely.clear();
  for (const run of due) run();
}

const receiver = createReceiver({
  secret: SECRET,
  inbox: sqliteInbox(file, { keepDoneDays: Number(keepDoneDays), minFreeDiskBytes: 0 }),
  log: false,
  clock: {
    ...systemClock,
    setTimer: (run, ms) => (ms === 60_000 ? whenForgetting(run) : systemClock.setTimer(run, ms)),
  },
});

const tries = new Map<string, number>();

async function handle(name: string): Promise<void> {
  await turn();
  const tried = (tries.get(name) ?? 0) + 1;
  tries.set(name, tried);
  const temper = behaviourOf(name);
  if (temper === "hopeless") throw new GiveUp("as its name says");
  if (temper === "late" && tried < 3) throw new RetryLater({ afterMs: 20 });
  if (temper === "failing" && tried < 2) throw new Error("as its name says");
  writer.mark("handled", name);
}

receiver.on("email", (event) => handle(event.attributes?.threadId ?? ""), { merge: false });
receiver.on("contact.changes", (event) => {
  for (const { attributes } of event.changes) writer.mark("handled", attributes?.threadId ?? "");
});
receiver.on("tracking.open", (event) => writer.mark("handled", trackedId(event.id)));

const asked: Readonly<Record<string, (argument: number) => Promise<void>>> = {
  async erase(account) {
    writer.mark("erased", String((await receiver.jobs.erase(account)).count));
  },
  idle: () => receiver.idle(),
  /** Resolves when retention has deleted all that no dead job holds and freed the pages: the next checkpoint makes the file shorter. */
  async forgotten() {
    // What is open when retention looks is looked at again only after minutes.
    while ((await deliveriesOf(["waiting", "running"])).length > 0) await pause(20);
    setInterval(forget, 200).unref();
    const dead = await deliveriesOf(["dead"]);
    while ((await deliveriesOf(["done", "skipped"])).some((id) => !dead.includes(id))) await pause(20);
    const db = new DatabaseSync(file, { readOnly: true });
    const pages = db.prepare("PRAGMA page_count");
    while (Number(pages.get()?.["page_count"]) > SHORT_PAGES) await pause(20);
    db.close();
  },
  async close() {
    await receiver.close();
  },
};
async function deliveriesOf(state: readonly JobState[]): Promise<readonly string[]> {
  const { jobs } = await receiver.jobs.list({ state, limit: 1_000 });
  return jobs.map(({ deliveryId }) => deliveryId);
}

/** With so few pages the inbox does not vacuum. */
const SHORT_PAGES = 1_200;

const mounted = nodeReceiver(receiver, { path: "/" });
const server = createServer({ keepAliveTimeout: 0 }, (req, res) => {
  const [, what = "", argument] = (req.url ?? "").split("/");
  const todo = asked[what];
  if (todo === undefined) return mounted(req, res);
  void todo(Number(argument)).then(() => {
    res.end();
    if (what === "close") res.on("finish", () => process.exit());
  });
});
await receiver.start();
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`);
