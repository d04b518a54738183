import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeDelivery } from "./deliveries.ts";
import { createDiskShim } from "./disk-shim.ts";
import { finishAndCheck } from "./finish-and-check.ts";
import { createScenario, sleepMs, startWorker } from "./fleet.ts";
import { rounds } from "./rounds.ts";

const FAULTS = [
  { name: "right after its COMMIT", fault: "dies after" },
  { name: "right before its transaction", fault: "dies before" },
  { name: "with an I/O error of SQLite", fault: { errcode: 10 } },
  { name: "with the disk full", fault: { errcode: 13 } },
] as const;

test.each(FAULTS)("row 5: the commit thread ends $name, repeatedly under load", async ({ name, fault }) => {
  const { fleet, service } = createScenario();
  const times = rounds(60);
  const worker = await startWorker(fleet, { faulty: true });
  service.load(8);
  for (let round = 0; round < times; round += 1) {
    await sleepMs(5, 50);
    await worker.ask(`/control/fault?fault=${encodeURIComponent(JSON.stringify(fault))}`);
    await service.deliver(makeDelivery(round % 2 === 0 ? "tracking" : "booking"));
  }
  expect(worker.alive()).toBe(true);
  expect(worker.err()).not.toContain("unhandled");
  const unanswered = service.answers.get(503) ?? 0;
  await finishAndCheck(fleet, service, { row: `row 5, ${name}`, tried: { times, "answered 503": unanswered }, worker });
});

test("row 5: the commit thread hangs in a system call: 503 and nothing else, and another thread replaces it", async () => {
  const row = "row 5, hangs";
  const { fleet, service } = createScenario();
  const shim = createDiskShim(row, fleet.file);
  if (shim === undefined) return;
  shim.clear();
  const worker = await startWorker(fleet, { env: shim.env, storeTimeoutMs: 500 });
  service.load(6);
  await sleepMs(500);
  shim.set({ call: "sync", what: "stall", ms: 45_000 });
  await eventually(() => expect(shim.faultCount("stall")).toBe(1));
  expect(await service.offer(makeDelivery("tracking"))).toBe(503);
  await eventually(async () => expect(await service.offer(makeDelivery("tracking")), worker.err()).toBe(200), 90_000);
  const by = shim.faultCount("over") === 0 ? "another thread" : "the same thread";
  await finishAndCheck(fleet, service, { row, tried: { "answered 200 again by": by }, worker });
});
