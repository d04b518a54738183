import { createReceiver, type Receiver } from "hookline";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { WorkingInbox } from "../../../src/adapter.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

const SECRET = "a signing secret";

test("an unexpanded delivery that PostgreSQL cannot read is an unhandled job, and the others are handled", async () => {
  const database = await newDatabase();
  const sql = new pg.Pool(database);
  onTestFinished(async () => {
    await sql.end();
    await database.drop();
  });
  const receivers: Receiver[] = [];
  onTestFinished(() => Promise.all(receivers.map((one) => one.close({ drainMs: 0 }))).then(() => {}));
  const log = logRecorder();
  const receiver = (): Receiver => {
    const inbox = openDatabase(database.connectionString) as WorkingInbox<"network">;
    const made = createReceiver({ secret: SECRET, storeTimeoutMs: 60_000, inbox, log: log.logger });
    receivers.push(made);
    return made;
  };

  const receiving = receiver();
  for (const id of ["a", "b", "c"]) {
    const request = signedRequest(bodyOf({ payloads: [change(id)] }), { secret: SECRET, at: new Date() });
    expect((await receiving.receive(request)).status).toBe(200);
  }
  await receiving.close();
  const { rows } = await sql.query<{ id: string }>("select id from hookline.delivery order by id");
  const broken = rows[1]!.id;
  // As where a page of its body is broken on the disk.
  await sql.query(`
    create function hookline.broken() returns bytea stable language plpgsql as $$ begin raise data_corrupted using message = 'missing chunk'; end $$;
    alter table hookline.delivery rename to kept;
    create view hookline.delivery as select day, id, received_at, sent_at, source, signed_by, signature, headers, account, subscription, jobs, absent,
      case when id = ${broken} then hookline.broken() else body end as body from hookline.kept`);

  const working = receiver();
  const seen: unknown[] = [];
  working.on("email", ({ id }) => void seen.push(id));
  await working.start();
  await eventually(() => expect(seen).toEqual(["a", "c"]));
  expect((await working.jobs.list({ state: "unhandled" })).jobs).toMatchObject([
    { deliveryId: broken, event: { type: "unknown" } },
  ]);
  expect(log.of("delivery-unreadable")).toMatchObject([{ level: "error", facts: { deliveryId: broken } }]);
});
