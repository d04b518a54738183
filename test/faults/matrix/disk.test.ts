import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeDelivery } from "./deliveries.ts";
import { createDiskShim, type DiskFault } from "./disk-shim.ts";
import { finishAndCheck } from "./finish-and-check.ts";
import { createScenario, expectEnd, sleepMs, startWorker } from "./fleet.ts";
import { type ReceiverProcess } from "./receiver-process.ts";
import { report, rounds } from "./rounds.ts";

/** Resolves when the worker answers 200 again. */
async function recovered(worker: ReceiverProcess): Promise<void> {
  await eventually(async () => expect((await worker.ask()).health.ready, worker.err()).toBe(true));
}

test(`row 3: SIGKILL between COMMIT and the 200: the redelivery is a duplicate, and handled once`, async () => {
  const { fleet, service } = createScenario();
  const shim = createDiskShim("row 3", fleet.file);
  if (shim === undefined) return;
  const kills = rounds(40);
  let unanswered = 0;
  for (let round = 0; round < kills; round += 1) {
    shim.clear();
    const worker = await startWorker(fleet, { env: shim.env });
    const made = [makeDelivery(round % 2 === 0 ? "tracking" : "booking"), makeDelivery("booking", { entries: 3 })];
    const tries = made.map((delivery) => service.deliver(delivery));
    shim.set({ call: "sync", what: "kill", from: 1 + Math.floor(Math.random() * 3) });
    for (let more = 0; more < 20 && worker.alive(); more += 1) await service.offer(makeDelivery("tracking"));
    await expectEnd(worker, "SIGKILL");
    shim.clear();
    fleet.start({ env: shim.env });
    await Promise.all(tries);
    unanswered += made.filter(({ name }) => (service.sent.find((sent) => sent.name === name)?.tries ?? 0) > 1).length;
    for (const one of fleet.living()) {
      one.signal("SIGKILL");
      await expectEnd(one, "SIGKILL"); // one that is not gone yet would be asked how it stands
    }
  }
  expect(unanswered).toBeGreaterThan(0);
  await finishAndCheck(fleet, service, { row: "row 3", tried: { kills, "committed without an answer": unanswered } });
});

const FAULTS: readonly (DiskFault & { readonly name: string })[] = [
  { name: "fsync fails with EIO", call: "sync", what: "eio" },
  { name: "a write fails with EIO", call: "write", what: "eio" },
  { name: "a write fails with ENOSPC", call: "write", what: "enospc" },
  { name: "a write is cut short", call: "write", what: "short" },
];

test.each(FAULTS)("row 6: $name, at the n-th call for all n", async ({ name, ...fault }) => {
  const row = `row 6, ${name}`;
  const { fleet, service } = createScenario();
  const shim = createDiskShim(row, fleet.file);
  if (shim === undefined) return;
  const calls = rounds(fault.call === "sync" ? 20 : 40);
  shim.clear();
  const worker = await startWorker(fleet, { env: shim.env });
  service.load(6);
  for (let from = 1; from <= calls; from += 1) {
    const before = shim.faultCount(fault.what);
    shim.set({ ...fault, from });
    await eventually(() => expect(shim.faultCount(fault.what)).toBe(before + 1));
    await recovered(worker);
    const acked = service.acked();
    await eventually(() => expect(service.acked(), worker.err()).toBeGreaterThan(acked));
  }
  shim.clear();
  await recovered(worker);
  const unanswered = service.answers.get(503) ?? 0;
  expect(fleet.deaths(), worker.err()).toBe(0);
  await finishAndCheck(fleet, service, { row, tried: { "n up to": calls, "answered 503": unanswered } });
});

test.each(["sync", "write"] as const)(
  "row 6: every %s fails: nothing is acknowledged, and it recovers",
  async (call) => {
    const row = `row 6, every ${call} fails`;
    const { fleet, service } = createScenario();
    const shim = createDiskShim(row, fleet.file);
    if (shim === undefined) return;
    shim.clear();
    const worker = await startWorker(fleet, { env: shim.env });
    service.load(6, { count: 100 });
    await eventually(() => expect(service.acked()).toBeGreaterThan(20));
    shim.set({ call, what: "eio", times: 0 });
    const statuses: number[] = [];
    for (let tried = 0; tried < 30; tried += 1) {
      statuses.push(await service.offer(makeDelivery("email", { lane: tried })));
      await sleepMs(100);
    }
    expect(new Set(statuses)).toEqual(new Set([503]));
    shim.clear();
    await recovered(worker);
    await finishAndCheck(fleet, service, { row, tried: { "refused meanwhile": statuses.length } });
  },
);

test("row 7: a full disk: 503 and nothing else, and everything continues when there is room again", async () => {
  const row = "row 7, disk full";
  const folder = smallDisk(row, "4m");
  if (folder === undefined) return;
  const { fleet, service } = createScenario(folder);
  const worker = await startWorker(fleet);
  const ballast = join(folder, "ballast");
  writeFileSync(ballast, Buffer.alloc(1_500_000));
  service.load(4, { next: () => makeDelivery("email", { lane: service.sent.length % 9, filler: 10_000 }) });
  await eventually(() => expect(service.answers.get(503) ?? 0, worker.err()).toBeGreaterThan(20));
  await service.abandon();
  expect(worker.alive()).toBe(true);
  rmSync(ballast);
  const last = makeDelivery("email", { lane: 1 });
  await eventually(async () => expect(await service.offer(last)).toBe(200));
  await finishAndCheck(fleet, service, { row, tried: { "answered 503": service.answers.get(503) } });
});

test("row 7: a nearly full disk: 503 before it is full, and stored deliveries are still handled", async () => {
  const row = "row 7, disk low";
  const folder = smallDisk(row, "160m");
  if (folder === undefined) return;
  const { fleet, service } = createScenario(folder);
  // More than the log of changes takes, which has up to 64 MiB.
  const worker = await startWorker(fleet, { inbox: { minFreeDiskBytes: 70_000_000 } });
  service.load(4);
  await eventually(() => expect(service.acked()).toBeGreaterThan(50));
  const slow = await service.deliver(makeDelivery("email", { lane: 70, does: "obey 5000" }));
  const ballast = join(folder, "ballast");
  writeFileSync(ballast, Buffer.alloc(100_000_000));
  await eventually(() => expect(service.answers.get(503) ?? 0, worker.err()).toBeGreaterThan(20));
  await eventually(async () => {
    expect((await worker.ask()).health.waiting, worker.err()).toBe(0);
  });
  expect((await worker.ask()).health.ready).toBe(false);
  rmSync(ballast);
  await recovered(worker);
  expect(slow.ackedAt).toBeDefined();
  await finishAndCheck(fleet, service, { row, tried: { "answered 503": service.answers.get(503) } });
});

test("row 7: a file that may not grow (RLIMIT_FSIZE): 503, and no acknowledged delivery is lost", async () => {
  const row = "row 7, file size limit";
  const { fleet, service } = createScenario();
  const limited = await startWorker(fleet, {
    under: ["bash", "-c", 'trap "" XFSZ; ulimit -f 1500; exec "$@"', "bash"],
  });
  service.load(4, { next: () => makeDelivery("email", { lane: service.sent.length % 9, filler: 10_000 }) });
  await eventually(() => expect(service.answers.get(503) ?? 0, limited.err()).toBeGreaterThan(20));
  expect(limited.alive()).toBe(true);
  limited.signal("SIGKILL");
  await limited.ended;
  fleet.start();
  await finishAndCheck(fleet, service, { row, tried: { "answered 503": service.answers.get(503) } });
});

test("row 8: fsync takes 10 ms longer: everything continues", async () => {
  const { fleet, service } = createScenario();
  const shim = createDiskShim("row 8", fleet.file);
  if (shim === undefined) return;
  shim.set({ call: "sync", what: "stall", times: 0, ms: 10 });
  await startWorker(fleet, { env: shim.env });
  service.load(64, { pauseMs: 0, count: rounds(5_000) });
  await sleepMs(2_000);
  const stalls = shim.faultCount("stall");
  await finishAndCheck(fleet, service, { row: "row 8, 10 ms", tried: { stalls } });
  expect(service.answers.get(503)).toBeUndefined();
});

test("row 8: fsync takes 2 s longer: the event loop is not blocked, and deliveries are refused in time", async () => {
  const { fleet, service } = createScenario();
  const shim = createDiskShim("row 8", fleet.file);
  if (shim === undefined) return;
  shim.clear();
  const worker = await startWorker(fleet, { env: shim.env, storeTimeoutMs: 300 });
  service.load(8);
  await sleepMs(300);
  for (let stall = 0; stall < rounds(20); stall += 1) {
    const [begun, over] = [shim.faultCount("stall"), shim.faultCount("over")];
    shim.set({ call: "sync", what: "stall", ms: 2_000 });
    await eventually(() => expect(shim.faultCount("stall")).toBe(begun + 1));
    await worker.ask();
    expect(await service.offer(makeDelivery("tracking"))).toBe(503);
    expect(shim.faultCount("over"), "both were answered while the disk stood still").toBe(over);
    await eventually(() => expect(shim.faultCount("over")).toBe(over + 1));
  }
  report("row 8, 2 s", { "answered 503": service.answers.get(503) });
  await finishAndCheck(fleet, service, { row: "row 8, 2 s", tried: { stalls: shim.faultCount("stall") } });
});

/** Mounts a small disk. @returns undefined, with a report, if this user may not mount one */
function smallDisk(row: string, size: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "hookline-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder], { stdio: "pipe" });
  } catch (error) {
    rmSync(folder, { recursive: true });
    report(row, { "not tried, because": String(error) });
    return undefined;
  }
  onTestFinished(() => {
    execFileSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}
