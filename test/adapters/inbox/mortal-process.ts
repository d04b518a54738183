import { writeSync } from "node:fs";
import { asWorking, asWriting } from "../../../src/inbox/halves.ts";
import { systemClock } from "../../../src/clock.ts";
import { toLogger } from "../../../src/log.ts";
import { mail, type FullDelivery } from "../../../src/testing/inbox-suite/deliveries.ts";
import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";

// Receives into a file without end, works on it when it may, and says a line for each step: `worker`, `kept <name>`, `handled <name>`.
// A name is <process>:<lane>:<number>. Without a process it only works, until all is handled. Each line is out before the next step begins.
const [file = "", me] = process.argv.slice(2);
const LANES = 7;
const AT_ONCE = 20;

/** The pipe is full while its reader is slow: then it is tried until it is out. */
function say(line: string): void {
  for (let rest = Buffer.from(`${line}\n`); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}

const inbox = asWorking(asWriting(sqliteInbox(file)));
if (inbox === undefined) throw new Error("It has no working half.");

let works = false;
let busy = false;

async function pump(): Promise<void> {
  if (!works || busy) return;
  busy = true;
  while (await step());
  busy = false;
  const { waiting, unexpanded, running } = inbox?.stats() ?? { waiting: 1, unexpanded: 0, running: 0 };
  if (me === undefined && waiting + unexpanded + running === 0) process.exit(0);
}

/** @returns whether there may be more */
async function step(): Promise<boolean> {
  if (inbox === undefined) return false;
  const open = await inbox.unexpanded(100);
  await inbox.expand(
    open.map(({ id, delivery }) => ({ id, events: again(nameIn(delivery.body)).events, cursor: undefined })),
  );
  const { claims, suspects } = await inbox.claim({ max: 50, mergeMax: 4 });
  const alone = claims.length === 0 && suspects ? await inbox.claim({ max: 1, mergeMax: 1, suspects }) : undefined;
  const all = alone?.claims ?? claims;
  for (const { jobs } of all) for (const { delivery } of jobs) say(`handled ${nameIn(delivery.body)}`);
  await inbox.settle(all.map((claim) => ({ claim, outcomes: claim.jobs.map(() => ({ to: "done" }) as const) })));
  return open.length + all.length > 0;
}

function again(name: string): FullDelivery {
  const lane = name.slice(0, name.lastIndexOf(":"));
  return mail([{ id: lane, lane, mergeKey: lane }], { filler: name });
}

function nameIn(body: Uint8Array): string {
  return String((JSON.parse(Buffer.from(body).toString()) as { readonly filler: unknown }).filler);
}

async function receive(lane: number): Promise<never> {
  for (let number = 0; ; number += 1) {
    const name = `${me}:${lane % LANES}:${number * AT_ONCE + lane}`;
    const { delivery, events } = again(name);
    const [kept] = (await inbox?.keep([{ delivery, events: works ? events : undefined }])) ?? [];
    if (kept !== undefined && "id" in kept) say(`kept ${name}`);
    void pump();
  }
}

await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 });
await inbox.work({
  begin() {
    works = true;
    say("worker");
    void pump();
  },
  wake: () => void pump(),
  lost: () => {},
});
say("ready");
if (me !== undefined) for (let lane = 0; lane < AT_ONCE; lane += 1) void receive(lane);
