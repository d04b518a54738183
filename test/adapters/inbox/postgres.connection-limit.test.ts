import { randomBytes } from "node:crypto";
import { createReceiver } from "hookline";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

/** A process whose role may have so many connections. */
async function limitedTo(connections: number) {
  const database = await newDatabase();
  const sql = new pg.Pool({ connectionString: database.connectionString, max: 1 });
  const role = `limited_${randomBytes(4).toString("hex")}`;
  const { pathname } = new URL(database.connectionString);
  await sql.query(`create role ${role} login password 'p' connection limit ${connections}`);
  await sql.query(`grant create on database ${pathname.slice(1)} to ${role}`);
  const url = new URL(database.connectionString);
  [url.username, url.password] = [role, "p"];
  const receiver = createReceiver({ secret: "s", inbox: openDatabase(url.href), log: logRecorder().logger });
  receiver.on("email", () => {});
  onTestFinished(async () => {
    await receiver.close({ drainMs: 0 });
    await sql.end();
    await database.drop();
  });
  const health = async () => {
    const { ready, problems } = await receiver.health();
    return { ready, problems: problems.map(({ code }) => code) };
  };
  return { receiver, sql, health, raise: () => sql.query(`alter role ${role} connection limit 20`) };
}

test("a process without the connection that stores is not ready, and is as soon as it has one", async () => {
  const { health, raise } = await limitedTo(2);
  await eventually(async () => expect(await health()).toEqual({ ready: false, problems: ["inbox-unavailable"] }));
  await raise();
  await eventually(async () => expect(await health()).toEqual({ ready: true, problems: [] }));
});

test("a process without the connection that works takes no shards, and health says that it does not work", async () => {
  const { receiver, sql, health, raise } = await limitedTo(3);
  await expect(receiver.start()).rejects.toMatchObject({ code: "too-many-connections" });
  expect(await health()).toMatchObject({ ready: true, problems: ["start-failed"] });
  expect((await sql.query("select from hookline.worker")).rowCount).toBe(0);
  await raise();
  await receiver.start();
  expect(await health()).toEqual({ ready: true, problems: [] });
});
