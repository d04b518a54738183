import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeDelivery } from "./deliveries.ts";
import { finishAndCheck, survives, waitUntilDrained } from "./finish-and-check.ts";
import { createScenario, currentWorker, expectEnd, sleepMs, startWorker, terminate } from "./fleet.ts";
import { readJournal } from "./journal.ts";
import { type ReceiverProcess } from "./receiver-process.ts";
import { report, rounds } from "./rounds.ts";

const ROUNDS = rounds(200);
/** Deaths until one of ten suspects runs alone. */
const GROUP_DEATHS = 4;

test(
  `row 1: SIGKILL at random under load, ${ROUNDS} times: one to three processes receive, one works, and the worker is killed as often as the others`,
  { timeout: 60_000 + ROUNDS * 10_000 },
  async () => {
    const { fleet, service } = createScenario();
    let workers = 0;
    fleet.start();
    service.load(12);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const size = 1 + Math.floor(Math.random() * 3);
      const wantsWorker = Math.random() < 0.5;
      while (fleet.living().length < size) fleet.start({ works: Math.random() < 0.6 });
      if (!fleet.living().some(({ works }) => works)) fleet.start();
      const other = fleet.living().find((one) => !one.isWorker());
      const victim = wantsWorker || other === undefined ? await currentWorker(fleet) : other;
      await victim.prints(/^ready/m);
      const acked = service.acked();
      await eventually(() => expect(service.acked()).toBeGreaterThan(acked));
      await sleepMs(0, 400);
      if (victim.isWorker()) workers += 1;
      victim.signal("SIGKILL");
      await victim.ended;
    }
    await finishAndCheck(fleet, service, { row: "row 1", tried: { kills: ROUNDS, "of workers": workers } });
  },
);

test("row 4: SIGTERM while short and long handlers run: they end or are released, no attempt is wasted, and the exit code is 0", async () => {
  const { fleet, service } = createScenario();
  const first = await startWorker(fleet, { drainMs: 6_000 });
  const long = await service.deliver(makeDelivery("calendar", { lane: 90, does: "obey 60000 1" }));
  const short = await service.deliver(makeDelivery("email", { lane: 91, does: "obey 300 1" }));
  for (let count = 0; count < 20; count += 1) await service.deliver(makeDelivery("calendar", { lane: 90 }));
  await eventually(() => expect(startsOf(fleet.journal, [long.name, short.name])).toHaveLength(2));
  service.load(4, { count: 200 });
  first.signal("SIGTERM");
  await expectEnd(first, 0);
  expect(first.out()).toContain('"stuck":0');
  const { jobs } = await finishAndCheck(fleet, service, { row: "row 4", tried: { "ended while running": 2 } });
  const attempts = startsOf(fleet.journal, [long.name, short.name]).map(({ instance, attempt }) => [instance, attempt]);
  expect(attempts).toEqual([["1", 1], ["1", 1], [expect.anything(), 1]]); // prettier-ignore
  expect(jobs.every(({ state }) => state === "done")).toBe(true);
});

test(`row 11: four processes that could all work, killed at random: one works at a time, and another takes over`, async () => {
  const { fleet, service } = createScenario();
  const kills = rounds(30);
  const waits: number[] = [];
  while (fleet.living().length < 4) fleet.start();
  service.load(8);
  for (let round = 0; round < kills; round += 1) {
    const worker = await currentWorker(fleet);
    await eventually(() => expect(fleet.living().every((one) => one.port() !== undefined)).toBe(true));
    await sleepMs(20, 300);
    expect(fleet.living().filter((one) => one.isWorker())).toEqual([worker]);
    worker.signal("SIGKILL");
    await worker.ended;
    const from = performance.now();
    await currentWorker(fleet);
    waits.push(performance.now() - from);
    fleet.start();
  }
  const slowest = Math.round(Math.max(...waits));
  await finishAndCheck(fleet, service, { row: "row 11", tried: { kills, "slowest take-over ms": slowest } });
});

test("row 11: a worker that is suspended for long and continues: no other process works meanwhile, and no lane runs twice at once", async () => {
  const { fleet, service } = createScenario();
  const stopMs = process.env["HOOKLINE_LONG"] === undefined ? 5_000 : 60_000;
  const worker = await startWorker(fleet);
  const standby = fleet.start();
  await standby.prints(/^ready/m);
  service.load(6);
  await sleepMs(500);
  const held = await service.deliver(makeDelivery("email", { lane: 77, does: "obey 200" }), worker.port());
  await eventually(() => expect(startsOf(fleet.journal, [held.name])).toHaveLength(1));
  worker.signal("SIGSTOP");
  // Refused while the worker is suspended within a commit: it holds SQLite's lock.
  const behind = service.deliver(makeDelivery("email", { lane: 77 }), standby.port());
  await sleepMs(stopMs);
  expect(standby.isWorker()).toBe(false);
  worker.signal("SIGCONT");
  await behind;
  await sleepMs(300);
  worker.signal("SIGSTOP");
  worker.signal("SIGKILL"); // SIGKILL also ends a stopped process
  await worker.ended;
  await standby.prints(/^works/m);
  await finishAndCheck(fleet, service, { row: "row 11, stopped", tried: { "stopped ms": stopMs }, worker: standby });
});

test("row 13: a delivery that always kills its process is dead after it died alone, and no neighbour is dead", async () => {
  const { fleet, service } = createScenario();
  const times = rounds(10);
  const poison: string[] = [];
  for (let round = 0; round < times; round += 1) {
    let worker: ReceiverProcess = await startWorker(fleet);
    service.load(4, { count: 40 });
    // Unique, because its process may die before it answers; and never merged with later ones.
    const bad = makeDelivery("tracking", { lane: 50, does: "kill" });
    poison.push(bad.entries[0]?.name ?? "");
    const sending = [
      bad,
      ...(["tracking", "calendar", "booking"] as const).map((kind) => makeDelivery(kind, { lane: 50 })),
    ];
    const sent = Promise.all(sending.map((delivery) => service.deliver(delivery)));
    // It may be dead again before it prints anything.
    do {
      await expectEnd(worker, "SIGKILL");
      worker = fleet.start();
    } while (!(await survives(worker)));
    await sent;
    await waitUntilDrained(worker);
    await terminate(worker);
  }
  const { dead } = await finishAndCheck(fleet, service, { row: "row 13", tried: { poison: times } });
  expect(dead.map(({ name }) => name).toSorted()).toEqual(poison.toSorted());
  for (const name of poison) {
    const starts = startsOf(fleet.journal, [name.replace(".0", "")]).length;
    expect(starts).toBeGreaterThanOrEqual(3);
    expect(starts).toBeLessThanOrEqual(3 + GROUP_DEATHS);
  }
});

test("pairs sent one after the other to different processes run in the order sent", async () => {
  const { fleet, service } = createScenario();
  const pairs = rounds(400);
  const all = [await startWorker(fleet), fleet.start({ works: false }), fleet.start()];
  await Promise.all(all.map((one) => one.prints(/^ready/m)));
  const portOf = (index: number): number | undefined => all[index % all.length]?.port();
  const chains = Array.from({ length: 8 }, async (_, lane) => {
    for (let pair = 0; pair < pairs / 8; pair += 1) {
      const kind = (["email", "contact", "calendar"] as const)[pair % 3] ?? "email";
      await service.deliver(makeDelivery(kind, { lane, does: "quick" }), portOf(pair));
      await service.deliver(makeDelivery(kind, { lane, does: "quick" }), portOf(pair + 1));
    }
  });
  await Promise.all(chains);
  await finishAndCheck(fleet, service, { row: "pairs", tried: { pairs }, worker: await currentWorker(fleet) });
});

test("a handler that is stuck across close() keeps the worker lock until it ends, and its outcome counts", async () => {
  const { fleet, service } = createScenario();
  const first = await startWorker(fleet, { drainMs: 300 });
  const standby = fleet.start();
  await standby.prints(/^ready/m);
  const stuck = await service.deliver(makeDelivery("email", { lane: 60, does: "ignore 3000" }), first.port());
  await eventually(() => expect(startsOf(fleet.journal, [stuck.name])).toHaveLength(1));
  await service.deliver(makeDelivery("email", { lane: 60 }), standby.port());
  first.signal("SIGTERM");
  await first.prints(/^closed .*"stuck":1/m);
  expect(standby.isWorker()).toBe(false);
  await expectEnd(first, 0);
  await standby.prints(/^works/m);
  await finishAndCheck(fleet, service, { row: "stuck across close", tried: { stuck: 1 }, worker: standby });
  expect(startsOf(fleet.journal, [stuck.name])).toHaveLength(1);
  report("stuck across close", { "calls of it": 1 });
});

/** The handler calls for these deliveries. */
function startsOf(journal: string, names: readonly string[]) {
  return readJournal(journal).filter(
    (line) => line.at === "start" && line.names.some((name) => names.includes(name.split(".")[0] ?? "")),
  ) as Extract<ReturnType<typeof readJournal>[number], { at: "start" }>[];
}
