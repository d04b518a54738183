import { expect, test } from "vitest";
import type { Expansion } from "../../src/inbox/port/delivery.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** A receiver on an inbox whose `expand` fails while `fails` says so, with a backlog of these e-mails. */
async function behind(
  fails: (expansions: readonly Expansion[]) => boolean | "hangs",
  ...ids: readonly (string | readonly string[])[]
) {
  const asked: (readonly Expansion[])[] = [];
  const inbox = stubInbox((own) => ({
    async expand(expansions) {
      asked.push(expansions);
      const how = fails(expansions);
      if (how === "hangs") await new Promise(() => {});
      if (how) throw new Error("canceling statement due to lock timeout");
      return own.expand(expansions);
    },
  }));
  const all = rig({ inbox, gaps: false });
  const { seen, handler } = recordingHandler();
  all.receiver.on("email", handler);
  for (const id of ids) await all.send(emails(...[id].flat()));
  await all.receiver.start();
  let sent = 0;
  /** Deliveries go on coming, each stored with its jobs and settled. */
  async function minutes(count: number): Promise<void> {
    for (let second = 0; second < 60 * count; second += 1) {
      await all.send(emails(`fresh-${(sent += 1)}`));
      await all.pass(1_000);
    }
  }
  return { ...all, asked, seen, minutes };
}

const has = (id: string, expansions: readonly Expansion[]): boolean => JSON.stringify(expansions).includes(id);

test("while expanding fails, nothing that was acknowledged is given up, however much else is stored", async () => {
  let isDown = true;
  const { receiver, asked, seen, minutes } = await behind(() => isDown, "first", "second");
  await minutes(5);
  expect(asked.flat().filter(({ cursor, events }) => cursor === undefined && events.length === 0)).toEqual([]);
  expect((await receiver.health()).problems).toContainEqual(expect.objectContaining({ code: "no-progress" }));
  isDown = false;
  await minutes(1);
  expect(seen.filter((id) => !id.startsWith("fresh"))).toEqual(["first", "second"]);
  expect(receiver.stats()).toMatchObject({ dead: 0 });
});

test("an event whose jobs are refused alone becomes an unhandled job of its own type after a minute, and is looked at at once", async () => {
  const { log, seen, minutes } = await behind(
    (expansions) => has('"bad"', expansions) && has('"waiting"', expansions),
    "bad",
    "good",
  );
  await minutes(0.9);
  expect(seen).not.toContain("good");
  expect(log.of("event-not-expanded")).toEqual([]);
  await minutes(0.3);
  expect(seen).toContain("good");
  expect(log.of("event-not-expanded")).toHaveLength(1);
  expect(seen.filter((id) => id === "bad")).toEqual(["bad"]);
});

test("an event that is refused in every form is an unhandled job of an unknown one, and no other waits longer", async () => {
  const { receiver, seen, minutes } = await behind((expansions) => has('"bad"', expansions), "bad", "good");
  await minutes(1.5);
  expect(seen).not.toContain("good");
  await minutes(1);
  expect(seen).toContain("good");
  const { jobs } = await receiver.jobs.list({ state: "unhandled" });
  expect(jobs).toMatchObject([{ event: { type: "unknown" } }]);
});

const entries = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index}`);
const isWaiting = (id: string, all: readonly Expansion[]): boolean =>
  all.some(({ events }) =>
    events.some((one) => has(id, [{ id: "", events: [one], cursor: 0 }]) && one.jobs[0]?.state === "waiting"),
  );

test.each([
  { what: "jobs", inMinutes: 1.3, fails: (all: readonly Expansion[]) => isWaiting("bad", all) },
  { what: "events", inMinutes: 2.5, fails: (all: readonly Expansion[]) => has('"bad', all) },
])(
  "many entries of one delivery whose $what are refused stop the others no longer than one, and are given up alone",
  async ({ fails, inMinutes }) => {
    const mixed = entries("bad", 20).flatMap((bad, index) => [bad, `own-${index}`]);
    const { receiver, seen, minutes } = await behind(fails, [...entries("bad-too", 20), ...mixed], "good");
    await minutes(0.9);
    expect(seen).not.toContain("good");
    await minutes(inMinutes - 0.9);
    expect(seen.filter((id) => !id.startsWith("fresh") && !id.startsWith("bad"))).toEqual([
      ...entries("own", 20),
      "good",
    ]);
    expect(receiver.stats()).toMatchObject({ dead: 0 });
  },
);

test("an entry that failed for a while and was taken is no reason to give up the next one", async () => {
  let bad = "bad-0";
  const { log, minutes } = await behind((all) => isWaiting(bad, all), entries("bad", 3));
  await minutes(0.8);
  bad = "bad-1";
  await minutes(0.8);
  bad = "bad-2";
  await minutes(0.8);
  bad = "none";
  await minutes(0.2);
  expect(log.of("event-not-expanded")).toEqual([]);
});

test("an event whose expansion hangs stops the others for two tries alone, and asks for no restart", async () => {
  const { receiver, seen, minutes } = await behind((all) => isWaiting("bad", all) && "hangs", "bad", "good");
  const isLive: boolean[] = [];
  for (let part = 0; part < 13; part += 1) {
    await minutes(1 / 6);
    isLive.push((await receiver.health()).live);
  }
  expect(seen).toContain("good");
  expect(isLive).toEqual(isLive.map(() => true));
});

test("where everything hangs, no event is given up, and a restart is asked for", async () => {
  const { receiver, log, minutes } = await behind(() => "hangs", "bad", "good");
  await minutes(10);
  expect(log.of("event-not-expanded")).toEqual([]);
  expect(await receiver.health()).toMatchObject({ live: false });
});
