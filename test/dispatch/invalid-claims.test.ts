import { RetryLater } from "hookline";
import { describe, expect, test } from "vitest";
import type { Claim, ClaimedJob } from "../../src/inbox/port/claims.ts";
import { emails, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

type Damage = (claim: Claim) => unknown;

/** Each job with the delivery that `to` makes of its own, and without its event and account. */
const deliveries =
  (to: (job: ClaimedJob) => unknown): Damage =>
  ({ jobs }) => ({ jobs: jobs.map((job) => ({ ...job, event: undefined, accountId: undefined, delivery: to(job) })) });

/** A receiver whose inbox damages the first claim that it gives; one slot, and any rejection that nobody handles fails the test. */
async function damaged(damage: Damage, isPaused = false) {
  let isFirst = true;
  const inbox = stubInbox((own) => ({
    async claim(limits) {
      const found = await own.claim(limits);
      if (!isFirst || found.claims.length === 0) return found;
      isFirst = false;
      return { ...found, claims: found.claims.map(damage) as Claim[] };
    },
  }));
  const all = rig({ inbox, gaps: false, concurrency: 1 });
  const { seen, handler } = recordingHandler();
  all.receiver.on("email", handler);
  await all.receiver.start();
  if (isPaused) await all.receiver.flow.pause({ accountId: 9 }, { reason: "another account" });
  await all.send(emails("bad"));
  await all.pass();
  for (let sent = 1; sent <= 5; sent += 1) await all.send(emails(`good-${sent}`));
  await all.pass(1_000);
  return { ...all, seen };
}

const damages: [string, Damage][] = [
  ["nothing", () => undefined],
  ["no list of jobs", () => ({})],
  ["no jobs", () => ({ jobs: [] })],
  ["jobs that are nothing", () => ({ jobs: [undefined] })],
  ["jobs without a delivery", deliveries(() => undefined)],
  ["jobs without a body", deliveries(({ delivery }) => ({ ...delivery, body: undefined }))],
  ["jobs of no time", deliveries(({ delivery }) => ({ ...delivery, receivedAt: 10n }))],
];

describe.each([false, true])("while another account is paused: %s", (isPaused) => {
  test.each(damages)("a claim of %s is reported, and frees its slot for all others", async (_, damage) => {
    const { seen, log } = await damaged(damage, isPaused);
    expect(seen.filter((id) => id !== "bad")).toEqual(["good-1", "good-2", "good-3", "good-4", "good-5"]);
    expect(log.of("claim-invalid")).toMatchObject([{ level: "error" }]);
  });
});

test("a job that cannot be read is a dead letter", async () => {
  const { receiver } = await damaged((claim) =>
    Object.assign(claim, deliveries(({ delivery }) => ({ ...delivery, body: undefined }))(claim)),
  );
  expect(await receiver.health()).toMatchObject({ dead: 1, waiting: 0 });
});

test("one that waits for a slot while an account is delayed takes no other with it", async () => {
  const unread = deliveries(() => undefined);
  const inbox = stubInbox((own) => ({
    async claim(limits) {
      const found = await own.claim(limits);
      const isBad = ({ jobs: [{ event }] }: Claim): boolean => event?.type === "email.updated" && event.id === "bad";
      return {
        ...found,
        claims: found.claims.map((claim) => (isBad(claim) ? Object.assign(claim, unread(claim)) : claim)),
      };
    },
  }));
  const { receiver, send, pass, log } = rig({ inbox, gaps: false, concurrency: 1 });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler, { merge: false });
  await receiver.start();
  await send(emails("first", "bad", "good"));
  await pass();
  calls[0]?.fail(new RetryLater({ afterSeconds: 1 }, { scope: "account" }));
  await pass(1_100);
  for (let index = 1; index < 3; index += 1) {
    calls[index]?.end();
    await pass();
  }
  expect(calls.map(({ event }) => idOf(event)).toSorted()).toEqual(["first", "first", "good"]);
  expect(log.of("claim-invalid")).not.toEqual([]);
});
