import { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { openProcesses } from "./postgres-processes.ts";
import { ALL, named } from "./retries.ts";

/** Longer than any test: what happens does not happen for its sake. */
const LEASE_MS = 3_600_000;

/** The network of one process. */
function network() {
  const sockets = new Set<Socket>();
  let isUp = true;
  return {
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      if (!isUp) socket.connect = () => socket.destroy(new Error("The network is down."));
      return socket;
    },
    fail() {
      isUp = false;
      for (const socket of sockets) socket.destroy();
    },
    recover: () => void (isUp = true),
  };
}

/** Processes of which the first one has claims, and a network of its own. */
async function working(goneMs: number, others = 1) {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const processes = await openProcesses(connectionString);
  const { stream, fail, recover } = network();
  const first = await processes.start({ leaseMs: LEASE_MS, goneMs, connection: { connectionString, stream } });
  onTestFinished(recover);
  const beside = [];
  for (let count = 0; count < others; count += 1) beside.push(await processes.start({ leaseMs: LEASE_MS, goneMs: 0 }));
  await processes.passing(async () => {
    expect(first.inbox.stats().workers?.share).toBe(1 / (1 + others));
    const workers = await processes.rows<{ present: boolean }>("select present from hookline.worker where alive");
    expect(workers).toEqual(Array.from({ length: 1 + others }, () => ({ present: true })));
  });
  await first.inbox.store([mail(named("runs", 50))]);
  const { claims } = await first.inbox.claim(ALL);
  expect(claims.length).toBeGreaterThan(0);
  return { processes, first, beside, claims, fail, recover };
}

test("what runs in a process whose connections are gone stops before others take it over, which they do", async () => {
  const { first, beside, claims, fail } = await working(500);
  const [other] = beside;
  fail();
  await eventually(async () => {
    await first.clock.advance(600);
    expect(first.heard.lost).toEqual(claims);
  });
  await eventually(async () => {
    await other?.clock.advance(600);
    expect(other?.inbox.stats().workers?.share).toBe(1);
  });
  const again = new Set<string>();
  await eventually(async () => {
    const more = (await other?.inbox.claim(ALL))?.claims ?? [];
    for (const { jobs } of more) again.add(jobs[0].id);
    expect(claims.filter(({ jobs }) => !again.has(jobs[0].id))).toEqual([]);
  });
});

test("where no other process works nothing stops, and holds when the server is back", async () => {
  const { processes, first, claims, fail, recover } = await working(0, 0);
  fail();
  for (let beat = 0; beat < 3; beat += 1) await first.clock.advance(600);
  recover();
  const settle = async () => first.inbox.settle(claims.map((claim) => ({ claim, outcomes: [{ to: "done" }] })));
  await processes.passing(async () => expect(await settle()).toEqual(claims.map(() => true)));
  expect(first.heard.lost).toEqual([]);
});

test("nothing stops where only the connection is gone that says that the process is there", async () => {
  const { processes, first, claims } = await working(LEASE_MS);
  await processes.rows(
    "select pg_terminate_backend(pid, 10_000) from pg_stat_activity where datname = current_database() and application_name = 'hookline presence'",
  );
  for (let beat = 0; beat < 3; beat += 1) await first.clock.advance(600);
  expect(first.heard.lost).toEqual([]);
  const settle = first.inbox.settle(claims.map((claim) => ({ claim, outcomes: [{ to: "done" }] })));
  expect(await settle).toEqual(claims.map(() => true));
});
