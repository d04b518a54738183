import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createPresence, type Presence } from "../../../adapters/inbox/postgres/connection/presence.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, done, recordsOf, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { startPostgres, type PostgresServer } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";
import { openProcesses } from "./postgres-processes.ts";

let primary: PostgresServer;
let standby: PostgresServer;

beforeAll(async () => {
  primary = await startPostgres();
  const inbox = openDatabase(primary.connectionString);
  await inbox.open({ name: "default", clock: wallClock(), log: toLogger(false), dedupeWindowMs: 86_400_000 });
  await inbox.close();
  await primary.stop("fast");
  standby = await startPostgres({ standbyOf: primary });
  await primary.start();
});
afterAll(async () => {
  await primary.remove();
  await standby.remove();
});

/** A name that leads to one server and then to another, as DNS does: what is connected stays where it is. */
async function openName() {
  const sockets = new Set<Socket>();
  let target = primary;
  const server = createServer((socket) => {
    const to = connect(Number(new URL(target.connectionString).port), "127.0.0.1");
    for (const [one, other] of [
      [socket, to],
      [to, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = new URL(primary.connectionString);
  url.port = String((server.address() as AddressInfo).port);
  return {
    connectionString: url.href,
    leadTo: (to: PostgresServer) => void (target = to),
    cut() {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
  };
}

async function connectionsTo({ connectionString }: PostgresServer): Promise<string[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    "select application_name as name from pg_stat_activity where application_name like 'hookline%' order by 1",
  );
  await client.end();
  return rows.map(({ name }) => name);
}

test("after a fail-over whose name led to a standby for a while, a process stores and works again, and none of its connections stays there", async () => {
  const name = await openName();
  const processes = await openProcesses(name.connectionString);
  const { inbox, clock, heard } = await processes.start();
  await storeAll(inbox, mail(["a"]));
  const interrupted = await claimOne(inbox);
  name.leadTo(standby);
  name.cut();
  const codes = new Set<string>();
  await eventually(async () => {
    await clock.advance(600);
    for (const result of await inbox.store([mail(["b"])])) codes.add((result as { code?: string }).code ?? "stored");
    expect([...codes]).toContain("server-read-only");
  });
  name.leadTo(primary);
  await eventually(async () => {
    await clock.advance(600);
    await storeAll(inbox, mail(["c"]));
    expect(heard.begun).toBe(2);
  });
  // The other server may have given its id to another job: it runs again.
  expect(await inbox.settle([{ claim: interrupted, outcomes: [done] }])).toEqual([false]);
  await eventually(async () => {
    await clock.advance(6_000);
    expect(await connectionsTo(standby)).toEqual([]);
    expect(await connectionsTo(primary)).toContain("hookline presence");
    expect(inbox.ready()).toEqual({ ready: true });
  });
  const handled = new Set<string>();
  await eventually(async () => {
    await clock.advance(600);
    for (const claim of await claimAll(inbox)) {
      await settleAll(inbox, claim, done);
      for (const record of recordsOf([claim]).flat()) handled.add(record);
    }
    expect(handled).toContain("a"); // "c" is a job only if the process worked again when it was stored
  });
  expect([...codes]).not.toContain("stored");
});

test("a process that only reads notices, too: it is not ready while it reads from a standby", async () => {
  const name = await openName();
  const inbox = openDatabase(name.connectionString);
  const clock = wallClock();
  await inbox.open({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 86_400_000 });
  onTestFinished(() => inbox.close());
  name.leadTo(standby);
  name.cut();
  await eventually(async () => {
    await clock.advance(1_000);
    expect(inbox.ready()).toMatchObject({ ready: false, error: { code: "server-read-only" } });
  });
  name.leadTo(primary);
  await eventually(async () => {
    await clock.advance(1_000);
    expect(inbox.ready()).toEqual({ ready: true });
    expect(await connectionsTo(standby)).toEqual([]);
  });
});

test("a standby knows no locks of its primary: nobody is there or gone by what it says, and no connection stays", async () => {
  const presenceAt = ({ connectionString }: PostgresServer): Presence => {
    const presence = createPresence({ connectionString }, () => '"hookline"');
    onTestFinished(() => presence.drop());
    return presence;
  };
  const there = presenceAt(primary);
  await eventually(async () => expect(await there.hold(1)).toBe(true));
  expect(await there.isGone(2)).toBe(true);
  const nowhere = presenceAt(standby);
  expect(await nowhere.hold(1)).toBe(false);
  expect(await nowhere.isGone(2)).toBe(false);
  await eventually(async () => expect(await connectionsTo(standby)).toEqual([]));
});
