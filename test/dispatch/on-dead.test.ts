import { GiveUp, memoryInbox, type Job } from "hookline";
import { describe, expect, test } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { crashableInbox } from "../support/crashable-inbox.ts";
import { emails, failingHandler, idOf, recordingHandler, rig } from "../support/rig.ts";
import { deferred, turns } from "../support/event-loop.ts";

describe("onDead", () => {
  test("holds the job's lane until the job is marked, and no other, and no slot", async () => {
    const { receiver, send, inbox } = rig({ concurrency: 1 });
    const heard = deferred();
    const { seen, handler } = recordingHandler((event) => {
      if (idOf(event) === "a" && seen.length === 1) throw new GiveUp("gone");
    });
    receiver.on("email", handler, { merge: false }).onDead(() => heard.promise);
    await receiver.start();
    await send(emails("a", "a", "b"));
    await turns();
    expect([seen, inbox.stats().dead]).toEqual([["a", "b"], 0]);
    heard.resolve();
    await receiver.idle();
    expect([seen, inbox.stats().dead]).toEqual([["a", "b", "a"], 1]);
  });

  test("hears of a job again from the next process where this one died before the mark", async () => {
    const store = memoryInbox();
    const clock = fakeClock();
    const heard: string[] = [];
    const life = (inbox = store) => {
      const made = rig({ inbox, clock, attempts: 1 });
      made.receiver.on("email", failingHandler().handler);
      return made;
    };
    const first = crashableInbox(store);
    const before = life(first.inbox);
    before.receiver.onDead((job: Job) => {
      heard.push(job.id);
      first.crash();
    });
    await before.receiver.start();
    await before.send(emails("a"));
    await before.pass();
    const after = life();
    after.receiver.onDead(({ id }) => heard.push(id));
    await after.receiver.start();
    await after.receiver.idle();
    expect(heard).toHaveLength(2);
    expect(new Set(heard).size).toBe(1);
    expect(after.inbox.stats()).toMatchObject({ dead: 1, waiting: 0 });
  });

  test("hears only of those jobs of a merged call that are dead, before any of them is marked", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 2 });
    const heard: [number | undefined, number][] = [];
    receiver.on("email", failingHandler().handler);
    receiver.onDead((job) => heard.push([job.attempts, inbox.stats().dead]));
    await receiver.start();
    await send(emails("a"));
    await turns();
    await send(emails("a", "a"));
    await pass(1_000);
    expect(heard).toEqual([[2, 0]]);
    await pass(2_000);
    expect(heard).toEqual([
      [2, 0],
      [2, 1],
      [2, 1],
    ]);
  });
});
