import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { schemaSql } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import type { Claim } from "../../../src/adapter.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openProcesses, type Processes } from "./postgres-processes.ts";

/** Longer than any test: nothing is given up for its sake. */
const NEVER_MS = 3_600_000;
/** More than the buffers of a connection hold. */
const LARGE = "x".repeat(3_000_000);

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

/** The same database by a role of its own, which has what the inbox needs and is no superuser. */
async function urlOfRole({ sql }: Processes, connectionString: string): Promise<string> {
  const role = `app_${randomBytes(6).toString("hex")}`;
  await sql.query(`create role ${role} login password 'p'`);
  onTestFinished(() => sql.query(`drop owned by ${role} cascade; drop role ${role}`).then(() => {}));
  await sql.query(schemaSql({ schema: "hookline", name: "default" }, role));
  const url = new URL(connectionString);
  [url.username, url.password] = [role, "p"];
  return url.href;
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
  return { processes, connectionString, process, running, claiming, goOn, sending };
}

test("a process that is suspended while the server sends it a step is taken over, and changes nothing once it goes on", async () => {
  const { processes, process, running, claiming, goOn, sending } = await suspended();
  const other = await processes.start({ leaseMs: 2_000 });
  const claims: Claim[] = [];
  await eventually(async () => {
    await other.clock.advance(600);
    claims.push(...(await other.inbox.claim({ max: 1, mergeMax: 1 }).catch(() => ({ claims: [] }))).claims);
    expect(recordsOf(claims).flat().toSorted()).toEqual(["a", "b", "c", "runs"]);
  });
  expect(await processes.rows(sending)).toEqual([]);
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

test("a session that is not Hookline's is not ended, and health() has whose lock keeps a dead worker's share from the others", async () => {
  const processes = await openProcesses();
  await processes.start({ leaseMs: NEVER_MS });
  const holder = await processes.sql.connect();
  await holder.query("set application_name = 'an operator'; begin");
  const { rows } = await holder.query<{ pid: number }>(
    "select pg_backend_pid() as pid from hookline.worker for update",
  );
  const { inbox, clock } = await processes.start({ leaseMs: 500 });
  const standstill = () => inbox.stats().standstill;
  await eventually(async () => {
    await clock.advance(600);
    expect(standstill()).toMatchObject({
      step: "claim",
      of: "The share of worker 1 (64 of 64 shards)",
      seconds: expect.any(Number),
      cause: { message: expect.stringContaining(`the session ${rows[0]?.pid} (an operator) holds its row`) },
    });
  });
  await holder.query("rollback");
  holder.release();
  await eventually(async () => {
    await clock.advance(600);
    expect([inbox.stats().workers?.share, standstill()]).toEqual([1, undefined]);
  });
});

test("of a session that only a superuser may end, health() says so", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const processes = await openProcesses(connectionString);
  await processes.start({ leaseMs: NEVER_MS });
  const holder = await processes.sql.connect();
  onTestFinished(() => holder.release(true));
  await holder.query("begin");
  await holder.query("select from hookline.worker for update");
  const url = await urlOfRole(processes, connectionString);
  const { inbox, clock } = await processes.start({ leaseMs: 500, connection: { connectionString: url } });
  await eventually(async () => {
    await clock.advance(600);
    expect(inbox.stats().standstill).toMatchObject({
      cause: {
        message: expect.stringMatching(
          /holds its row in the table "hookline".worker\. The role of this process may not end/,
        ),
      },
    });
  });
});

test("health() has that the step of a suspended process cannot be ended, because another role's session runs it", async () => {
  const { processes, connectionString } = await suspended();
  const url = await urlOfRole(processes, connectionString);
  const { inbox, clock } = await processes.start({ leaseMs: 500, connection: { connectionString: url } });
  await eventually(async () => {
    await clock.advance(600);
    expect(inbox.stats().standstill).toMatchObject({ cause: { code: "permission-missing" } });
  });
});
