import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { inbox, jsonOf } from "../../cli/inbox-file.ts";
import { bodyOf, signedRequest } from "../../support/make-delivery.ts";
import { folderFor } from "./on-disk.ts";

// Also run on the oldest Node that package.json promises: earlier ones do not tell whether a transaction is open.

const secret = "a secret of these tests";

test("a delivery that SQLite refuses gets 503 alone: those of its commit, and of later ones, are stored", async () => {
  const file = join(folderFor(), "inbox.db");
  const made = await receiverOn(file);
  await made.close();
  refuseFrom(file, "refused");

  const receiver = await receiverOn(file);
  const receive = async (source?: string): Promise<number> =>
    (await receiver.receive(signedRequest(bodyOf(), { secret, at: new Date(), source }))).status;
  expect(await receive("refused")).toBe(503);
  expect(await Promise.all([receive(), receive("refused"), receive()])).toEqual([200, 503, 200]);
  expect(await receive()).toBe(200);
  await receiver.idle();
  await receiver.close();

  const { code, out, err } = await inbox(file, "list --json");
  expect([code, err]).toEqual([0, ""]);
  expect(jsonOf(out)).toMatchObject([{ state: "done" }, { state: "done" }, { state: "done" }]);
});

async function receiverOn(file: string) {
  const receiver = createReceiver({ secret, inbox: sqliteInbox(file), log: false, storeTimeoutMs: 60_000 });
  receiver.on("email", () => {});
  await receiver.start();
  return receiver;
}

function refuseFrom(file: string, source: string): void {
  const db = new DatabaseSync(file);
  db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON delivery WHEN NEW.source = '${source}'
    BEGIN SELECT RAISE(ABORT, 'refused'); END`);
  db.close();
}
