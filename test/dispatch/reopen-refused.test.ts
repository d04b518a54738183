import { memoryInbox } from "hookline";
import { expect, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

test("unhandled jobs that are no list are asked for again, and health says so", async () => {
  let broken = true;
  const inbox = stubInbox((own) => ({
    jobs: { ...own.jobs, unhandled: async (page) => (broken ? (undefined as never) : own.jobs.unhandled(page)) },
  }));
  const { receiver, pass, log } = rig({ inbox, gaps: false });
  receiver.on("email", () => {});
  await receiver.start();
  await pass(1_500);
  expect(log.of("inbox-failed")).not.toEqual([]);
  await pass(20_000);
  expect(await receiver.health()).toMatchObject({ live: true, problems: [{ code: "no-progress" }] });
  broken = false;
  await pass(1_000);
  await receiver.idle();
  expect(await receiver.health()).toMatchObject({ problems: [] });
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
  const { jobs } = await own.jobs.find({ states: ["unhandled"], limit: 1_000 });
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
  return { ...after, seen, bad: [...bad], refused: bad, tries };
}

const own = (seen: readonly string[]): readonly string[] => seen.filter((id) => id !== "fresh");

test("jobs behind one that cannot be reopened are reopened at once, although nothing else is written", async () => {
  const { pass, seen } = await refusing(["a", "b", "c", "d"], 1);
  for (let second = 0; second < 5; second += 1) await pass(1_000);
  expect(seen).toEqual(["a", "c", "d"]);
});

test("one of a hundred that cannot be reopened costs the others no second each", async () => {
  const ids = Array.from({ length: 100 }, (_, place) => `${place}`);
  const { pass, seen, tries } = await refusing(ids, 60);
  await pass(1_000);
  expect(seen).toEqual(ids.toSpliced(60, 1));
  expect(tries.length).toBeLessThan(30);
});

test.each([20, 300])("%d that cannot be reopened keep no other for long", async (count) => {
  const bad = Array.from({ length: count }, (_, index) => `bad-${index}`);
  const { pass, seen } = await refusing([...bad, "good", "better"], ...bad.keys());
  for (let second = 0; second < 30; second += 1) await pass(1_000);
  expect(seen).toEqual(["good", "better"]);
});

test.each([1, 2, 5])(
  "one that cannot be reopened ends after a minute of tries beside others, with a delivery each %d s",
  async (every) => {
    const { receiver, send, pass, seen, log, bad } = await refusing(["a", "b", "c", "d"], 1);
    for (let second = 0; second < 65 * every; second += 1) {
      if (second === 50) expect(log.of("job-not-reopened")).toEqual([]);
      if (second % every === 0) await send(emails("fresh"));
      await pass(1_000);
    }
    await receiver.idle();
    expect(own(seen)).toEqual(["a", "c", "d"]);
    expect(log.of("job-not-reopened")).toMatchObject([
      { level: "error", facts: { jobId: bad[0], err: { message: "22021" } } },
    ]);
    expect(await receiver.health()).toMatchObject({ live: true, unhandled: 1, problems: [{ code: "unhandled" }] });
  },
);

test("several that cannot be reopened end, and the others keep their order", async () => {
  const { receiver, send, pass, seen, log, bad } = await refusing(["a", "b", "c", "d", "e"], 0, 2, 3);
  for (let second = 0; second < 90; second += 1) {
    await send(emails("fresh"));
    await pass(1_000);
  }
  await receiver.idle();
  expect(own(seen)).toEqual(["b", "e"]);
  expect(log.of("job-not-reopened").map(({ facts }) => facts["jobId"])).toEqual(bad);
});

test("a job is not given up where nothing at all is written: the inbox may be the cause, and it is tried for ever", async () => {
  const { receiver, pass, tries, log, bad } = await refusing(["a"], 0);
  for (let second = 0; second < 200; second += 1) await pass(1_000);
  expect(log.of("job-not-reopened")).toEqual([]);
  expect(tries.length).toBeGreaterThan(150);
  expect(tries).toEqual(tries.map(() => bad));
  expect(await receiver.health()).toMatchObject({ live: true, problems: [{ code: "no-progress" }, {}] });
});

test("after an outage jobs are reopened in their order, but for the one that showed its end", async () => {
  const ids = Array.from({ length: 9 }, (_, index) => `${index}`);
  const { receiver, pass, seen, refused } = await refusing(ids, ...ids.keys());
  for (let second = 0; second < 5; second += 1) await pass(1_000);
  refused.clear();
  for (let second = 0; second < 5; second += 1) await pass(1_000);
  await receiver.idle();
  const [sign = ""] = seen;
  expect(seen).toEqual([sign, ...ids.filter((id) => id !== sign)]);
});
