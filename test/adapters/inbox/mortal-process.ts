import type { WorkingInbox } from "hookline/adapter";
import { writeSync } from "node:fs";
import { mail, type FullDelivery } from "../../suites/inbox/deliveries.ts";
import { workOn } from "./work-on.ts";

// Receives into a file without end, works on it when it may, and says a line for each step: `worker`, `stored <name>`, `handled <name>`.
// A name is <process>:<lane>:<sender>:<number>; a sender waits for each answer. Without a process it only works, until all is handled. Each line
// is out before the next step begins.
const [file = "", me] = process.argv.slice(2);
const LANES = 7;
const SENDERS = 20;

/** The pipe is full while its reader is slow: then it is tried until it is out. */
function say(line: string): void {
  for (let rest = Buffer.from(`${line}\n`); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

async function step(inbox: WorkingInbox): Promise<boolean> {
  const open = await inbox.unexpanded(100);
  await inbox.expand(
    open.map(({ id, delivery }) => ({ id, events: again(nameIn(delivery.body)).events, cursor: undefined })),
  );
  const { claims, suspects } = await inbox.claim({ max: 50, mergeMax: 4 });
  const alone = claims.length === 0 && suspects ? await inbox.claim({ max: 1, mergeMax: 1, suspects }) : undefined;
  const all = alone?.claims ?? claims;
  for (const { jobs } of all) for (const { delivery } of jobs) say(`handled ${nameIn(delivery.body)}`);
  await inbox.settle(all.map((claim) => ({ claim, outcomes: claim.jobs.map(() => ({ to: "done" }) as const) })));
  const { waiting, unexpanded, running } = inbox.stats();
  if (me === undefined && waiting + unexpanded + running === 0) process.exit(0);
  return open.length + all.length > 0;
}

function again(name: string): FullDelivery {
  const lane = name.split(":", 2).join(":");
  return mail([{ id: lane, lane, mergeKey: lane }], { filler: name });
}

function nameIn(body: Uint8Array): string {
  return String((JSON.parse(Buffer.from(body).toString()) as { readonly filler: unknown }).filler);
}

async function receive(sender: number): Promise<never> {
  for (let number = 0; ; number += 1) {
    const name = `${me}:${sender % LANES}:${sender}:${number}`;
    const { delivery, events } = again(name);
    const [stored] = await inbox.store([{ delivery, events: works() ? events : undefined }]);
    if (stored !== undefined && "id" in stored) say(`stored ${name}`);
    wake();
  }
}

const { inbox, works, wake } = await workOn(file, say, { step });
say("ready");
if (me !== undefined) for (let sender = 0; sender < SENDERS; sender += 1) void receive(sender);
