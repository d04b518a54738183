import { createReceiver, type Receiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isLocked } from "../../../adapters/inbox/sqlite/work/worker-lock.ts";
import { controllableInbox } from "../../support/controllable-inbox.ts";
import { eventually } from "../../support/eventually.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { codesOf } from "../../support/health.ts";
import { bodyOf, signedRequest } from "../../support/make-delivery.ts";
import { folderFor } from "./on-disk.ts";

const SECRET = "a signing secret";
const clock = fakeClock();

test("one that was not started says so ten seconds after a delivery that nobody handles", async () => {
  const { receiver, send } = receiverOn(fileOfTest());
  await send();
  await clock.advance(10_000);
  expect(await codesOf(receiver)).toEqual([]);
  await clock.advance(1);
  expect(await codesOf(receiver)).toEqual(["no-worker"]);
});

test("one whose start failed says both, until a start holds", async () => {
  const { receiver, send, commands } = receiverOn(fileOfTest());
  receiver.on("email", () => {});
  commands.fail("work");
  await expect(receiver.start()).rejects.toThrow("no work");
  await send();
  await clock.advance(10_001);
  expect(await codesOf(receiver)).toEqual(["start-failed", "no-worker"]);
  commands.release("work");
  await receiver.start();
  await eventually(async () => expect(await codesOf(receiver)).toEqual([]));
});

test("not while another one works, however long a job takes; but from its end on", async () => {
  const file = fileOfTest();
  const web = receiverOn(file);
  const worker = receiverOn(file);
  let end = (): void => {};
  worker.receiver.on("email", () => new Promise<void>((resolve) => (end = resolve)));
  await worker.receiver.start();
  await web.send();
  await eventually(() => expect(worker.receiver.stats().role).toBe("working"));
  await clock.advance(60_000);
  expect(await codesOf(web.receiver)).toEqual([]);
  // Looking has not taken the lock away.
  expect(isLocked(`${file}-lock`)).toBe(true);
  expect(() => lockElsewhere(`${file}-lock`)).toThrow("database is locked");
  const closed = worker.receiver.close({ drainMs: 0 });
  end();
  await closed;
  await web.send();
  await clock.advance(10_001);
  await eventually(async () => expect(await codesOf(web.receiver)).toEqual(["no-worker"]));
});

test("a pause of another account does not hide it, and what is paused needs no worker", async () => {
  const file = fileOfTest();
  const worker = receiverOn(file);
  worker.receiver.on("email", () => {});
  for (const accountId of [1, 2]) await worker.receiver.flow.pause({ accountId }, { reason: "an import" });
  await worker.receiver.start();
  for (const accountId of [1, 2]) await worker.send({ accountId });
  await eventually(async () => expect((await worker.receiver.health()).pausedWaiting).toBe(2));
  await worker.receiver.close();
  const web = receiverOn(file);
  await clock.advance(60_000);
  await eventually(async () => expect(await codesOf(web.receiver)).toEqual(["paused", "paused"]));
  await web.receiver.flow.resume({ accountId: 2 });
  await eventually(async () => expect(await codesOf(web.receiver)).toEqual(["paused", "no-worker"]));
  await web.receiver.flow.pause({ accountId: 2 }, { reason: "once more" });
  await eventually(async () => expect(await codesOf(web.receiver)).toEqual(["paused", "paused"]));
});

test("a lock that cannot be looked at says nothing", () => {
  expect(isLocked(folderFor())).toBeUndefined();
  expect(isLocked(join(folderFor(), "inbox.db-lock"))).toBe(false);
});

function fileOfTest(): string {
  return join(folderFor(), "inbox.db");
}

function receiverOn(file: string) {
  const commands = controllableInbox(sqliteInbox(file, { minFreeDiskBytes: 0 }));
  const receiver: Receiver = createReceiver({ secret: SECRET, inbox: commands.inbox, clock, log: false });
  onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
  return {
    receiver,
    commands,
    async send(fields: Parameters<typeof bodyOf>[0] = {}): Promise<void> {
      const reply = await receiver.receive(signedRequest(bodyOf(fields), { secret: SECRET, at: clock.date() }));
      expect(reply.status).toBe(200);
    },
  };
}

/** As another process sees it. */
function lockElsewhere(path: string): void {
  const code = `new (require("node:sqlite").DatabaseSync)(${JSON.stringify(path)}, { timeout: 0 }).exec("BEGIN EXCLUSIVE")`;
  execFileSync(process.execPath, ["--no-warnings", "-e", code], { stdio: "pipe" });
}
