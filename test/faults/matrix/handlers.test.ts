import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeDelivery } from "./deliveries.ts";
import { finishAndCheck, survives, waitUntilDrained } from "./finish-and-check.ts";
import { createFleet, createScenario, expectEnd, sleepMs, startWorker, terminate } from "./fleet.ts";
import { readJournal } from "./journal.ts";
import { report, rounds } from "./rounds.ts";
import { createService } from "./service.ts";

test("row 12: handlers that ignore their signal, throw synchronously, reject with undefined or block the event loop harm no other job", async () => {
  const { fleet, service } = createScenario();
  const worker = await startWorker(fleet, { timeoutMs: 200, graceMs: 200, concurrency: 4 });
  const times = rounds(20);
  service.load(4);
  for (let round = 0; round < times; round += 1) {
    const lane = 200 + round;
    for (const does of ["ignore 1500", "reject-undefined 1", "block 150", "obey 60000 0", "fail 1"])
      await service.deliver(makeDelivery("email", { lane, does }));
  }
  await finishAndCheck(fleet, service, { row: "row 12", tried: { handlers: times * 5 }, worker });
});

test("row 12: a handler that never ends blocks its own lane only; close() counts it as stuck, and it runs again", async () => {
  const { fleet, service } = createScenario();
  const worker = await startWorker(fleet, { timeoutMs: 100, graceMs: 100, concurrency: 2, drainMs: 1_000 });
  const hung = await service.deliver(makeDelivery("email", { lane: 300, does: "hang 0 1" }));
  const behind = await service.deliver(makeDelivery("email", { lane: 300 }));
  service.load(4, { count: 100 });
  await service.finish();
  await eventually(async () => expect((await worker.ask()).health.waiting).toBe(1));
  expect(namesStarted(fleet.journal)).not.toContain(behind.entries[0]?.name);
  worker.signal("SIGTERM");
  await worker.prints(/^closed .*"stuck":1/m);
  // Only a promise that never settles is left, which does not keep the process alive.
  await expectEnd(worker, 0);
  await finishAndCheck(fleet, service, { row: "row 12, never ends", tried: { hung: hung.name } });
});

test("row 12: a handler that exits the process is treated like one that kills it", async () => {
  const { fleet, service } = createScenario();
  let worker = await startWorker(fleet);
  const bad = makeDelivery("tracking", { lane: 1, does: "exit" });
  const sent = Promise.all([bad, makeDelivery("tracking", { lane: 1 })].map((one) => service.deliver(one)));
  // It may exit again before it prints that it works.
  do {
    await expectEnd(worker, 3);
    worker = fleet.start();
  } while (!(await survives(worker)));
  await sent;
  const { dead } = await finishAndCheck(fleet, service, { row: "row 12, exits", tried: { exits: 3 }, worker });
  expect(dead.map(({ name }) => name)).toEqual([bad.entries[0]?.name]);
});

test("row 14: the wall clock jumps an hour ahead, an hour back, and stops: every retry runs, none immediately", async () => {
  const fleet = createFleet();
  const worker = await startWorker(fleet);
  const jumps = rounds(10);
  let offset = 0;
  const service = createService({ secret: fleet.secret, port: fleet.anyPort, now: () => Date.now() + offset });
  service.load(4);
  for (let jump = 0; jump < jumps; jump += 1) {
    for (let lane = 0; lane < 5; lane += 1) await service.deliver(makeDelivery("email", { lane, does: "fail 1" }));
    offset = [3_600_000, -3_600_000, 0][jump % 3] ?? 0;
    await worker.ask(`/control/clock?offset=${offset}${jump % 2 === 0 ? "" : "&frozen"}`);
    await sleepMs(300);
    await worker.ask(`/control/clock?offset=${offset}`);
  }
  await service.finish();
  await waitUntilDrained(worker);
  await finishAndCheck(fleet, service, { row: "row 14", tried: { jumps }, worker });
});

test("row 14: a worker that is suspended while retries wait continues", async () => {
  const { fleet, service } = createScenario();
  const worker = await startWorker(fleet);
  const times = rounds(10);
  for (let round = 0; round < times; round += 1) {
    for (let lane = 0; lane < 5; lane += 1) await service.deliver(makeDelivery("email", { lane, does: "fail 1" }));
    worker.signal("SIGSTOP");
    await sleepMs(1_500);
    worker.signal("SIGCONT");
  }
  await finishAndCheck(fleet, service, { row: "row 14, suspended", tried: { suspended: times }, worker });
});

test("row 15: a thousand cold lanes do not wait for a hot one", async () => {
  const { fleet, service } = createScenario();
  const [hot, cold] = [rounds(100), rounds(1_000)];
  const worker = await startWorker(fleet);
  for (let part = 0; part < hot; part += 1)
    await service.deliver(makeDelivery("calendar", { lane: 1, entries: 1_000, does: "quick" }));
  const names = new Set<string>();
  for (let lane = 0; lane < cold; lane += 1) {
    const { entries } = await service.deliver(makeDelivery("email", { lane: 1_000 + lane, does: "quick" }));
    for (const { name } of entries) names.add(name);
  }
  await waitUntilDrained(worker);
  const started = namesStarted(fleet.journal);
  const lastCold = started.findLastIndex((name) => names.has(name));
  const hotBehind = started.slice(lastCold).length - 1;
  report("row 15", { hot: hot * 1_000, cold, "hot ones behind the last cold one": hotBehind });
  expect(hotBehind).toBeGreaterThan(0);
  await finishAndCheck(fleet, service, { row: "row 15", tried: { hot: hot * 1_000, cold }, worker });
});

test("row 16: the same delivery fifty times in parallel to three processes is one job, and the same id with other content is another", async () => {
  const { fleet, service } = createScenario();
  const times = rounds(20);
  const worker = await startWorker(fleet);
  const others = [fleet.start({ works: false }), fleet.start()];
  await Promise.all(others.map((one) => one.prints(/^ready/m)));
  for (let round = 0; round < times; round += 1) {
    const kind = round % 2 === 0 ? "tracking" : "booking";
    const number = 5_000_000 + round;
    const [one, other] = [makeDelivery(kind, { number }), makeDelivery(kind, { number })];
    const statuses = await Promise.all(Array.from({ length: 50 }, () => service.offer(one)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    // Its name differs, hence its content.
    await Promise.all(Array.from({ length: 10 }, () => service.offer(other)));
  }
  await finishAndCheck(fleet, service, { row: "row 16", tried: { "copies of one": 50, events: times }, worker });
});

test("repeated deploys under load: nothing is lost and no attempt is wasted", async () => {
  const { fleet, service } = createScenario();
  const deploys = rounds(30);
  let worker = await startWorker(fleet);
  service.load(8);
  for (let deploy = 0; deploy < deploys; deploy += 1) {
    await sleepMs(20, 300);
    const next = fleet.start();
    await next.prints(/^ready/m);
    await terminate(worker);
    await next.prints(/^works/m);
    worker = next;
  }
  await finishAndCheck(fleet, service, { row: "row 4, deploys", tried: { deploys }, worker });
  const failing = new Set(service.sent.filter(({ body }) => body.includes('"fail 1"')).map(({ name }) => name));
  const burned = readJournal(fleet.journal).filter(
    (line) => line.at === "start" && line.attempt > 1 && !failing.has(line.names[0]?.split(".")[0] ?? ""),
  );
  expect(burned.filter((line) => line.at === "start" && line.merged === 1)).toEqual([]);
});

/** The events that handlers got, in the order of their calls. */
function namesStarted(journal: string): string[] {
  return readJournal(journal).flatMap((line) => (line.at === "start" ? line.names : []));
}
