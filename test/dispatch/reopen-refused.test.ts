import { memoryInbox } from "hookline";
import { expect, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

test("unhandled jobs that are no list are asked for again", async () => {
  let broken = true;
  const inbox = stubInbox((own) => ({
    jobs: { ...own.jobs, unhandled: async (page) => (broken ? (undefined as never) : own.jobs.unhandled(page)) },
  }));
  const { receiver, pass, log } = rig({ inbox, gaps: false });
  receiver.on("email", () => {});
  await receiver.start();
  await pass(1_500);
  expect(log.of("inbox-failed")).not.toEqual([]);
  broken = false;
  await pass(1_000);
  await receiver.idle();
});

/**
 * A receiver on an inbox with unhandled changes of these e-mails, stored by an earlier one.
 * @param refused what the inbox does not reopen, by their places
 */
async function refusing(ids: readonly string[], ...refused: readonly number[]) {
  const clock = fakeClock();
  const own = memoryInbox() as WorkingInbox<"memory">;
  const before = rig({ inbox: own, clock, gaps: false });
  before.receiver.on("contact", () => {});
  await before.receiver.start();
  await before.send(emails(...ids));
  await before.receiver.idle();
  await before.receiver.close();
  const { jobs } = await own.jobs.find({ states: ["unhandled"], limit: 100 });
  const bad = new Set(refused.map((place) => jobs[place]?.id));
  const tries: string[][] = [];
  const inbox = stubInbox(() => ({
    ...own,
    jobs: {
      ...own.jobs,
      async reopen(replacements) {
        tries.push(replacements.map(({ id }) => id));
        if (replacements.some(({ id }) => bad.has(id))) throw new Error("22021");
        return own.jobs.reopen(replacements);
      },
    },
  }));
  const after = rig({ inbox, clock, gaps: false });
  const { seen, handler } = recordingHandler();
  after.receiver.on("email", handler);
  await after.receiver.start();
  return { ...after, seen, bad: [...bad], tries };
}

test("unhandled jobs behind one that cannot be reopened are reopened, while something else is written", async () => {
  const { receiver, send, pass, seen, log, bad } = await refusing(["a", "b", "c", "d"], 1);
  for (let second = 0; second < 70; second += 1) {
    await send(emails("fresh"));
    await pass(1_000);
  }
  await receiver.idle();
  expect(seen.filter((id) => id !== "fresh")).toEqual(["a", "c", "d"]);
  expect(log.of("job-not-reopened")).toMatchObject([
    { level: "error", facts: { jobId: bad[0], err: { message: "22021" } } },
  ]);
  expect(await receiver.health()).toMatchObject({ live: true, unhandled: 1 });
});

test("several that cannot be reopened end one by one", async () => {
  const { receiver, send, pass, seen, log, bad } = await refusing(["a", "b", "c", "d"], 0, 2, 3);
  for (let second = 0; second < 200; second += 1) {
    await send(emails("fresh"));
    await pass(1_000);
  }
  await receiver.idle();
  expect(seen.filter((id) => id !== "fresh")).toEqual(["b"]);
  expect(log.of("job-not-reopened")).toMatchObject(bad.map((jobId) => ({ facts: { jobId } })));
});

test("a job is not passed where nothing at all is written: the inbox may be the cause, and it is tried for ever", async () => {
  const { pass, tries, log, bad } = await refusing(["a", "b"], 0);
  for (let second = 0; second < 60; second += 1) await pass(1_000);
  expect(log.of("job-not-reopened")).toEqual([]);
  expect(tries.length).toBeGreaterThan(50);
  expect(tries.slice(1)).toEqual(tries.slice(1).map(() => bad));
});
