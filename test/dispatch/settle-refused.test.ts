import { expect, test } from "vitest";
import type { Settlement } from "../../src/inbox/port/claims.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** A receiver that handled the e-mail "bad", on an inbox that refuses settlements of it while `refuses` says so. */
async function handled(refuses: (settlement: Settlement) => boolean) {
  const inbox = stubInbox((own) => ({
    async settle(settlements) {
      if (settlements.some((one) => JSON.stringify(one).includes('"bad"') && refuses(one)))
        throw new Error("canceling statement due to lock timeout");
      return own.settle(settlements);
    },
  }));
  const all = rig({ inbox, gaps: false });
  const { seen, handler } = recordingHandler();
  const told: string[] = [];
  all.receiver.on("email", handler);
  all.receiver.onDead(({ id, state }) => void told.push(`onDead ${id} ${state}`));
  all.receiver.observe({ dead: ({ job }) => void told.push(`dead ${job.id} ${job.state}`) });
  await all.receiver.start();
  await all.send(emails("bad"));
  await all.pass();
  let sent = 0;
  /** Other jobs go on being settled. */
  async function minutes(count: number): Promise<void> {
    for (let second = 0; second < 60 * count; second += 1) {
      await all.send(emails(`fresh-${(sent += 1)}`));
      await all.pass(1_000);
    }
  }
  return { ...all, seen, told, minutes, bad: () => seen.filter((id) => id === "bad") };
}

test("a success that is not settled for minutes is no dead letter, though others are settled", async () => {
  let isLocked = true;
  const { receiver, told, minutes, bad } = await handled(({ outcomes }) => isLocked && outcomes[0]?.to !== "dead");
  await minutes(9);
  isLocked = false;
  await minutes(0.1);
  expect([told, bad()]).toEqual([[], ["bad"]]);
  const { jobs } = await receiver.jobs.list({ state: "dead" });
  expect(jobs).toEqual([]);
  expect(receiver.stats()).toMatchObject({ dead: 0, failed: 0 });
});

test("an outcome that is refused for long is seen in health, until it is taken", async () => {
  let isLocked = true;
  const { receiver, minutes } = await handled(() => isLocked);
  await minutes(1);
  const { problems, live } = await receiver.health();
  expect([problems.map(({ code }) => code), live]).toEqual([["no-progress"], true]);
  expect(problems[0]?.message).toContain("A job whose handler has ended was not settled for");
  isLocked = false;
  await minutes(0.1);
  expect((await receiver.health()).problems).toEqual([]);
});

test("an outcome that is never taken, while others are, ends as a dead letter that listeners, observers and counters see", async () => {
  const { receiver, told, minutes, log } = await handled(({ outcomes }) => outcomes[0]?.to !== "dead");
  await minutes(11);
  const { jobs } = await receiver.jobs.list({ state: "dead" });
  expect(jobs).toMatchObject([{ event: { id: "bad" }, lastError: { name: "StorageError" } }]);
  expect(told).toEqual([`dead ${jobs[0]?.id} dead`, `onDead ${jobs[0]?.id} dead`]);
  expect(receiver.stats()).toMatchObject({ dead: 1, failed: 1, succeeded: 660 });
  expect(log.of("job-unsettled")).toMatchObject([
    { facts: { err: { message: expect.stringContaining("lock timeout") } } },
  ]);
});

test("a job that is unlocked while its burial is refused is settled as what became of it", async () => {
  let isLocked = true;
  let burials = 0;
  const { receiver, told, minutes } = await handled(({ outcomes }) => {
    if (outcomes[0]?.to === "dead") burials += 1;
    return isLocked;
  });
  await minutes(11);
  expect(burials).toBeGreaterThan(0);
  while (burials % 2 === 0) await minutes(1 / 60);
  const before = burials;
  while (burials === before) await minutes(1 / 60);
  isLocked = false;
  await minutes(0.1);
  expect(told).toEqual([]);
  expect(receiver.stats()).toMatchObject({ dead: 0, failed: 0 });
});
