import { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openProcesses } from "./postgres-processes.ts";

/** Longer than any test: nothing is given up for its sake. */
const NEVER_MS = 3_600_000;
/** More than the buffers of a connection hold. */
const LARGE = "x".repeat(4_000_000);

/** The connections of a process that is suspended: the server sends, its kernel still acknowledges, and nothing is read. */
function suspendable() {
  const sockets = new Set<Socket>();
  const goOn = (): void => sockets.forEach((socket) => socket.resume());
  onTestFinished(goOn);
  return {
    goOn,
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      return socket;
    },
    suspend: () => sockets.forEach((socket) => socket.pause()),
  };
}

/** A process that stands still while the server sends it the bodies of what it claims. */
async function suspended() {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const processes = await openProcesses(connectionString);
  const before = await processes.start();
  await storeAll(before.inbox, mail(["runs"]), ...["a", "b", "c"].map((id) => mail([id], { filler: LARGE })));
  await before.inbox.close();
  const { stream, suspend, goOn } = suspendable();
  const process = await processes.start({ leaseMs: NEVER_MS, connection: { connectionString, stream } });
  const [running] = (await process.inbox.claim({ max: 1, mergeMax: 1 })).claims;
  suspend();
  const claiming = process.inbox.claim({ max: 100, mergeMax: 1 }).catch(() => ({ claims: [] }));
  const sending = "select pid from pg_stat_activity where datname = current_database() and wait_event = 'ClientWrite'";
  await eventually(async () => expect(await processes.rows(sending)).toHaveLength(1));
  return { processes, process, running, claiming, goOn, sending };
}

test("a process that is suspended while the server sends it a step is taken over, and changes nothing once it goes on", async () => {
  const { processes, process, running, claiming, goOn, sending } = await suspended();
  const other = await processes.start({ leaseMs: 1_000 });
  await eventually(async () => {
    await other.clock.advance(600);
    expect(other.inbox.stats().workers?.share).toBe(1);
  });
  expect(await processes.rows(sending)).toEqual([]);
  const claims = await claimAll(other.inbox);
  expect(recordsOf(claims).flat().toSorted()).toEqual(["a", "b", "c", "runs"]);
  goOn();
  expect((await claiming).claims).toEqual([]);
  const late = process.inbox.settle([{ claim: running!, outcomes: [done] }]);
  await eventually(async () => {
    await process.clock.advance(600);
    expect(process.log.of("worker-lock-lost")).toHaveLength(1);
  });
  expect(await late).toEqual([false]);
  expect(await other.inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })))).toEqual(
    claims.map(() => true),
  );
});
