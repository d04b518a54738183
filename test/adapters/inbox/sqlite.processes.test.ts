import { createReceiver, type Receiver } from "hookline";
import type { WorkingInbox } from "hookline/adapter";
import { sqliteInbox } from "hookline/sqlite";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { toLogger } from "../../../src/logger.ts";
import { startNode } from "../../cli/child.ts";
import { eventually } from "../../support/eventually.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { folderFor } from "./on-disk.ts";

const SECRET = "a signing secret";

test("a stand-by takes over within a second of the worker's death, and never while that is only stopped", async () => {
  const file = join(folderFor(), "inbox.db");
  const worker = startNode(["test/adapters/inbox/holding-process.ts", file]);
  await worker.says("out", /^worker\n/m);
  const clock = fakeClock();
  const standby: WorkingInbox = createSqliteInbox({ file });
  await standby.open({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 60_000 });
  onTestFinished(() => standby.close());
  let works = false;
  await standby.work({ begin: () => void (works = true), end() {}, wake() {}, lost() {} });
  worker.kill("SIGSTOP");
  await clock.advance(60_000);
  expect(works).toBe(false);
  worker.kill("SIGKILL");
  await worker.ended;
  await clock.advance(1_000);
  await eventually(() => expect(works).toBe(true));
});

test("what another process receives is handled here by itself, without any timer of ours", async () => {
  const file = join(folderFor(), "inbox.db");
  const clock = fakeClock(); // nobody advances it
  const make = (): Receiver => createReceiver({ secret: SECRET, inbox: sqliteInbox(file), log: false, clock });
  const [working, receiving] = [make(), make()];
  onTestFinished(() => void Promise.all([working.close(), receiving.close()]));
  const handled: string[] = [];
  working.on("email", ({ id }) => void handled.push(id));
  await working.start();
  await working.idle();
  for (const id of ["a", "b"]) {
    const request = signedRequest(bodyOf({ payloads: [change(id)] }), { secret: SECRET, at: clock.date() });
    expect((await receiving.receive(request)).status).toBe(200);
    await eventually(() => expect(handled).toContain(id));
  }
});

test("while another process is in the middle of a write deliveries get 503, and are taken once it has ended", async () => {
  const file = join(folderFor(), "inbox.db");
  const receiver = createReceiver({ secret: SECRET, inbox: sqliteInbox(file), storeTimeoutMs: 100, log: false });
  onTestFinished(() => void receiver.close());
  const statusOf = async (): Promise<number> =>
    (await receiver.receive(signedRequest(bodyOf(), { secret: SECRET, at: new Date() }))).status;
  await eventually(async () => expect(await statusOf()).toBe(200));
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  expect(await statusOf()).toBe(503);
  other.exec("ROLLBACK");
  other.close();
  await eventually(async () => expect(await statusOf()).toBe(200));
});
