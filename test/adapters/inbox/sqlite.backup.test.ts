import { createReceiver, type Receiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";

const SECRET = "a signing secret";

function openOn(file: string) {
  const receiver = createReceiver({ secret: SECRET, inbox: sqliteInbox(file), storeTimeoutMs: 60_000, log: false });
  const handled: string[] = [];
  receiver.on("email", ({ id }) => void handled.push(id));
  onTestFinished(() => void receiver.close());
  return { receiver, handled };
}

async function send(receiver: Receiver, id: string): Promise<void> {
  const request = signedRequest(bodyOf({ payloads: [change(id)] }), { secret: SECRET, at: new Date() });
  expect(await receiver.receive(request)).toMatchObject({ status: 200 });
}

test("a copy made while it is in use holds what came before: what was handled since is handled again, what came since is gone", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [file, copy, restored] = ["inbox.db", "copy.db", "restored.db"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const before = openOn(file);
  await send(before.receiver, "before");
  const db = new DatabaseSync(file);
  db.exec(`VACUUM INTO '${copy}'`);
  db.close();
  await send(before.receiver, "after");
  await before.receiver.start();
  await before.receiver.idle();
  await before.receiver.close();
  expect(before.handled).toEqual(["before", "after"]);

  copyFileSync(copy, restored);
  const after = openOn(restored);
  await after.receiver.start();
  await after.receiver.idle();
  expect(after.handled).toEqual(["before"]);
});
