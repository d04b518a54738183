import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeDelivery } from "./deliveries.ts";
import { finishAndCheck, waitUntilDrained } from "./finish-and-check.ts";
import { createScenario, currentWorker, sleepMs, startWorker } from "./fleet.ts";
import { report, rounds } from "./rounds.ts";

test("row 22: killed while jobs become dead and are replayed: each is dead or replayed, once, and none is lost", async () => {
  const { fleet, service } = createScenario();
  const kills = rounds(60);
  const given: string[] = [];
  let replays = 0;
  await startWorker(fleet);
  service.load(4, {
    next() {
      const made = makeDelivery("email", { lane: service.sent.length % 20, does: "give-up" });
      given.push(made.entries[0]?.name ?? "");
      return made;
    },
  });
  for (let kill = 0; kill < kills; kill += 1) {
    const worker = await currentWorker(fleet);
    await sleepMs(50, 300);
    const { dead } = (await worker.ask()).health;
    if (dead > 0 && kill % 2 === 1) {
      replays += 1;
      void worker.ask("/control/replay").catch(() => {});
      await sleepMs(0, 20);
    }
    worker.signal("SIGKILL");
    await worker.ended;
    fleet.start();
    await eventually(() => expect(fleet.anyPort()).toBeDefined());
  }
  const { jobs } = await finishAndCheck(fleet, service, { row: "row 22", tried: { kills, replays }, replays: true });
  const names = new Set(jobs.map(({ name }) => name));
  expect(given.filter((name) => !names.has(name))).toEqual([]);
});

test("row 22: killed during a long replay: each job is dead or replayed, once, and none is lost", async () => {
  const { fleet, service } = createScenario();
  const times = rounds(20);
  const count = 600;
  for (let round = 0; round < times; round += 1) {
    let worker = await startWorker(fleet);
    await service.deliver(makeDelivery("task", { entries: count, does: "give-up" }));
    await waitUntilDrained(worker);
    const before = (await worker.ask()).health.dead;
    expect(before).toBeGreaterThanOrEqual(count);
    let isReplayed = false;
    void worker.ask("/control/replay").then(
      () => (isReplayed = true),
      () => {},
    );
    await sleepMs(0, 10);
    // Some before it has begun, and the others in the middle.
    if (round % 4 > 0) while (!isReplayed && (await worker.ask()).health.dead === before);
    await sleepMs(0, 20);
    worker.signal("SIGKILL");
    await worker.ended;
    worker = await startWorker(fleet);
    await waitUntilDrained(worker);
    worker.signal("SIGKILL");
    await worker.ended;
  }
  const tried = { kills: times };
  const { jobs, dead } = await finishAndCheck(fleet, service, {
    row: "row 22, a replay of many",
    tried,
    replays: true,
  });
  report("row 22, a replay of many", { replayed: jobs.length - dead.length, "not asked for yet": dead.length });
  expect(dead.length).toBeLessThan(jobs.length);
  // A replayed job leaves the dead letters: no job is there twice, and none is lost.
  expect(new Set(jobs.map(({ name }) => name)).size).toBe(jobs.length);
  expect(jobs).toHaveLength(times * count);
});
