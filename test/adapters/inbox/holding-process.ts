import type { Claim, WorkingInbox } from "hookline/adapter";
import { writeSync } from "node:fs";
import { mail } from "../../suites/inbox/deliveries.ts";
import { workOn } from "./work-on.ts";

// Works on a file, and says a line for each step: `worker`, `claimed <record>`, `lost <record>`. All records are in one lane. One whose name
// begins with "held" runs until it is lost; any other is done at once.
const [file = ""] = process.argv.slice(2);
const say = (line: string): unknown => writeSync(1, `${line}\n`);

async function step(inbox: WorkingInbox): Promise<boolean> {
  const open = await inbox.unexpanded(100);
  await inbox.expand(open.map(({ id, delivery }) => ({ id, events: eventsOf(delivery.body), cursor: undefined })));
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  for (const claim of claims) say(`claimed ${nameOf(claim)}`);
  const quick = claims.filter((claim) => !nameOf(claim).startsWith("held"));
  for (const claim of quick) await end(inbox, claim);
  return quick.length > 0;
}

async function end(inbox: WorkingInbox, claim: Claim): Promise<void> {
  await inbox.settle([{ claim, outcomes: claim.jobs.map(() => ({ to: "done" }) as const) }]);
}

function namesIn(body: Uint8Array): string[] {
  const { payloads } = JSON.parse(Buffer.from(body).toString()) as { payloads: readonly { readonly id: string }[] };
  return payloads.map(({ id }) => String(id));
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

const { inbox, wake } = await workOn(file, say, {
  step,
  lost(claims) {
    for (const claim of claims) {
      say(`lost ${nameOf(claim)}`);
      void end(inbox, claim).then(wake);
    }
  },
});
