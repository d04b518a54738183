import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runInLane } from "../../src/sync/run-in-lane.ts";
import { folderFor } from "../adapters/inbox/on-disk.ts";

test("a run in its lane finds its job while the clock goes back", async () => {
  let behind = 0;
  const clock = {
    now: () => Date.now() - (behind += 10),
    setTimer(run: () => void, ms: number) {
      const timer = setTimeout(run, ms);
      return { clear: () => clearTimeout(timer), unref: () => timer.unref() };
    },
  };
  const inbox = sqliteInbox(join(folderFor(), "inbox.db"));
  const receiver = createReceiver({ secret: "s", inbox, log: false, gaps: false, clock });
  onTestFinished(async () => void (await receiver.close()));
  let calls = 0;
  receiver.on("email.changes", () => void (calls += 1));
  await receiver.start();
  const scope = { accountId: 2002, resource: "/email/messages" };
  await runInLane(receiver, { scope, family: "email", consumer: "default", proceed() {}, waitsMs: 600_000 });
  expect(calls).toBe(1);
});
