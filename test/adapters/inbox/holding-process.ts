import { writeSync } from "node:fs";
import { systemClock } from "../../../src/clock.ts";
import { asWorking, asWriting } from "../../../src/inbox/halves.ts";
import type { Claim } from "../../../src/inbox/port.ts";
import { toLogger } from "../../../src/log.ts";
import { mail } from "../../../src/testing/inbox-suite/deliveries.ts";
import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";

// Works on a file, and says a line for each step: `worker`, `claimed <record>`, `lost <record>`. All records are in one lane. One whose name
// begins with "held" runs until it is lost; any other is done at once.
const [file = ""] = process.argv.slice(2);
const say = (line: string): unknown => writeSync(1, `${line}\n`);
const inbox = asWorking(asWriting(sqliteInbox(file)));
if (inbox === undefined) throw new Error("It has no working half.");

let works = false;
let busy = false;
let again = false;

async function pump(): Promise<void> {
  again = true;
  if (!works || busy) return;
  busy = true;
  while (again) {
    again = false;
    await step();
  }
  busy = false;
}

async function step(): Promise<void> {
  const open = (await inbox?.unexpanded(100)) ?? [];
  const expansions = open.map(({ id, delivery }) => ({ id, events: eventsOf(delivery.body), cursor: undefined }));
  await inbox?.expand(expansions);
  const { claims = [] } = (await inbox?.claim({ max: 1, mergeMax: 1 })) ?? {};
  for (const claim of claims) {
    const name = nameOf(claim);
    say(`claimed ${name}`);
    if (!name.startsWith("held")) await end(claim);
  }
}

async function end(claim: Claim): Promise<void> {
  await inbox?.settle([{ claim, outcomes: claim.jobs.map(() => ({ to: "done" }) as const) }]);
  void pump();
}

function namesIn(body: Uint8Array): string[] {
  const { payloads } = JSON.parse(Buffer.from(body).toString()) as { payloads: readonly { readonly id: string }[] };
  return payloads.map(({ id }) => id);
}

function eventsOf(body: Uint8Array): ReturnType<typeof mail>["events"] {
  const { accountId } = JSON.parse(Buffer.from(body).toString()) as { accountId: number };
  return mail(
    namesIn(body).map((id) => ({ id, lane: "one" })),
    { accountId },
  ).events;
}

function nameOf({ jobs: [{ delivery, entry }] }: Claim): string {
  return namesIn(delivery.body)[entry] ?? "";
}

await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 });
await inbox.work({
  begin() {
    works = true;
    say("worker");
    void pump();
  },
  wake: () => void pump(),
  lost(claims) {
    for (const claim of claims) {
      say(`lost ${nameOf(claim)}`);
      void end(claim);
    }
  },
});
