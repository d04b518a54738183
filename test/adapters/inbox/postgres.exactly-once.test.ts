import { createReceiver, RetryLater, type Receiver } from "hookline";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { complete } from "../../../adapters/inbox/postgres/complete.ts";
import { eventually } from "../../support/eventually.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

test("what a handler does in the transaction that completes its job happens once, in spite of failures before and after the commit", async () => {
  const { receiver, app, send } = await started();
  let calls = 0;
  receiver.on(
    "email",
    async (event, ctx) => {
      const call = (calls += 1);
      const client = await app.connect();
      try {
        await client.query("begin");
        await client.query("insert into effect values ($1)", [event.id]);
        await complete(ctx, client);
        if (call % 3 === 1) throw new RetryLater({ afterMs: 1 });
        await client.query("commit");
        if (call % 3 === 2) throw new Error("after the commit");
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
    { merge: false },
  );
  await receiver.start();
  await send("a", "b", "c", "d", "e", "f");
  await eventually(() => expect(receiver.stats()).toMatchObject({ succeeded: 6, dead: 0 }));
  const { rows } = await app.query<{ id: string }>("select id from effect order by id");
  expect(rows.map(({ id }) => id)).toEqual(["a", "b", "c", "d", "e", "f"]);
  const { jobs } = await receiver.jobs.list({ state: "done" });
  expect(jobs).toHaveLength(6);
});

async function started(): Promise<{ receiver: Receiver; app: pg.Pool; send(...ids: string[]): Promise<void> }> {
  const database = await newDatabase();
  const app = new pg.Pool({ ...database, max: 20 });
  const receiver = createReceiver({ secret: "a secret", inbox: openDatabase(database.connectionString), log: false });
  onTestFinished(async () => {
    await receiver.close({ drainMs: 0 });
    await app.end();
    await database.drop();
  });
  await app.query("create table effect (id text)");
  const send = async (...ids: string[]): Promise<void> => {
    const body = bodyOf({ payloads: ids.map((id) => change(id)) });
    expect(await receiver.receive(signedRequest(body, { secret: "a secret", at: new Date() }))).toMatchObject({
      status: 200,
    });
  };
  return { receiver, app, send };
}
