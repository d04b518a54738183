import { createHash } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeDelivery } from "./deliveries.ts";
import { finishAndCheck, integrityOf, readJobs, waitUntilDrained } from "./finish-and-check.ts";
import { createScenario, sleepMs, startWorker, terminate, type Fleet } from "./fleet.ts";
import { report, rounds } from "./rounds.ts";

test("row 9: a torn end of the WAL, or a missing -shm file, after a kill: nothing is lost", async () => {
  const { fleet, service } = createScenario();
  const times = rounds(40);
  service.load(8);
  for (let round = 0; round < times; round += 1) {
    const worker = await startWorker(fleet);
    await sleepMs(50, 300);
    worker.signal("SIGKILL");
    await worker.ended;
    const wal = readFileSync(`${fleet.file}-wal`);
    // Half of a valid frame, or noise.
    const torn = round % 2 === 0 ? wal.subarray(32, 32 + below(wal.length)) : Buffer.alloc(below(20_000), round);
    appendFileSync(`${fleet.file}-wal`, torn);
    if (below(2) === 0) rmSync(`${fleet.file}-shm`);
  }
  await finishAndCheck(fleet, service, { row: "row 9, torn", tried: { times } });
});

test.each([
  ["cut off", (wal: string) => truncateSync(wal, below(statSync(wal).size))],
  ["changed by a bit", (wal: string) => flipBit(wal, below(statSync(wal).size))],
])("row 9: a log that is %s in the middle: what is found is all up to a commit, and is handled", async (how, harm) => {
  const times = rounds(20);
  const found: number[] = [];
  for (let round = 0; round < times; round += 1) {
    const { fleet, service } = createScenario();
    const worker = await startWorker(fleet);
    for (let sent = 0; sent < 60; sent += 1) await service.deliver(makeDelivery("email", { lane: 1, does: "quick" }));
    worker.signal("SIGKILL");
    await worker.ended;
    harm(`${fleet.file}-wal`);
    const next = await startWorker(fleet);
    await waitUntilDrained(next);
    await terminate(next);
    const names = (await readJobs(fleet)).map(({ name, state }) => `${name} ${state}`);
    expect(names).toEqual(service.sent.slice(0, names.length).map(({ name }) => `${name}.0 done`));
    expect(integrityOf(fleet.file)).toBe("ok");
    found.push(names.length);
  }
  report(`row 9, log ${how}`, { times, "found of 60": found.join(" ") });
});

test.each([
  ["is not a database any more", (file: string) => overwrite(file, 0)],
  ["has broken pages", (file: string) => { for (let page = 1; page * PAGE < statSync(file).size; page += 1) overwrite(file, page * PAGE); }], // prettier-ignore
])("row 9: a file that %s: 503 and nothing else, with the cause, and the file is left alone", async (how, harm) => {
  const { fleet, service } = createScenario();
  const first = await startWorker(fleet);
  for (let sent = 0; sent < 40; sent += 1) await service.deliver(makeDelivery("email", { lane: sent, filler: 3_000 }));
  await waitUntilDrained(first);
  await terminate(first);
  harm(fleet.file);
  const before = shaOf(fleet.file);
  // start() rejects in a process that would work, with the same cause.
  const second = fleet.start({ works: false });
  await second.prints(/^ready/m);
  const statuses = new Set<number>();
  for (let tried = 0; tried < 10; tried += 1) statuses.add(await service.offer(makeDelivery("email", { lane: tried })));
  report(`row 9, file ${how}`, { statuses: [...statuses].join(" ") });
  expect(statuses.has(200)).toBe(false);
  expect(second.err()).toMatch(/malformed|not a database/);
  second.signal("SIGKILL");
  await second.ended;
  expect(shaOf(fleet.file)).toBe(before);
});

test("row 10: another process holds the write lock: deliveries wait, or get 503, and nothing is lost", async () => {
  const { fleet, service } = createScenario();
  const worker = await startWorker(fleet, { storeTimeoutMs: 2_000 });
  const held = [1_000, ...(process.env["HOOKLINE_LONG"] === undefined ? [7_000] : [30_000])];
  service.load(4);
  await sleepMs(300);
  for (const ms of held) {
    const other = new DatabaseSync(fleet.file);
    await eventually(() => other.exec("BEGIN IMMEDIATE"));
    const acked = service.acked();
    await sleepMs(ms);
    // Deliveries committed before the lock may have been answered since.
    expect(service.acked() - acked).toBeLessThanOrEqual(4);
    other.exec("ROLLBACK");
    other.close();
    await service.deliver(makeDelivery("tracking"));
  }
  expect(service.answers.get(503)).toBeGreaterThan(0);
  await finishAndCheck(fleet, service, {
    row: "row 10, write lock",
    tried: { "held ms": held.join(" "), "answered 503": service.answers.get(503) ?? 0 },
    worker,
  });
});

test("row 10: a long reader blocks the checkpoint: deliveries are still acknowledged, and the WAL is gone at the end", async () => {
  const { fleet, service } = createScenario();
  const worker = await startWorker(fleet);
  await service.deliver(makeDelivery("email"));
  const reader = new DatabaseSync(fleet.file, { readOnly: true });
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM delivery").get();
  const many = rounds(4_000);
  service.load(16, {
    pauseMs: 0,
    count: many,
    next: () => makeDelivery("email", { lane: service.sent.length % 99, filler: 12_000 }),
  });
  await eventually(() => expect(service.acked()).toBeGreaterThan(many / 2));
  await eventually(() => expect(service.acked()).toBeGreaterThanOrEqual(many));
  const size = statSync(`${fleet.file}-wal`).size;
  reader.close();
  await finishAndCheck(fleet, service, {
    row: "row 10, reader",
    tried: { "log MiB": Math.round(size / 2 ** 20) },
    worker,
  });
});

const PAGE = 8_192;

function overwrite(file: string, at: number): void {
  const fd = openSync(file, "r+");
  writeSync(fd, Buffer.alloc(16, 0xff), 0, 16, at);
  closeSync(fd);
}

function flipBit(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

function shaOf(file: Fleet["file"]): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function below(count: number): number {
  return Math.floor(Math.random() * count);
}
