import { createReceiver } from "hookline";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sqliteInbox } from "../../adapters/inbox/sqlite.ts";
import { runCli } from "../cli/in-process.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../support/make-delivery.ts";

test("with keepBodies a done job has no delivery and no event, and its replay says why it is not made", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "inbox.db");
  const clock = fakeClock();
  const log = logRecorder();
  const receiver = createReceiver({
    secret: "whsec",
    inbox: sqliteInbox(file, { keepBodies: "until-done" }),
    clock,
    log: log.logger,
    attempts: 1,
  });
  onTestFinished(async () => void (await receiver.close()));
  receiver.on("email", ({ id }) => {
    if (id === "bad") throw new Error("the database is down");
  });
  await receiver.start();
  for (const id of ["good", "bad"]) {
    const request = signedRequest(bodyOf({ payloads: [change(id)] }), { secret: "whsec", at: new Date(clock.now()) });
    expect((await receiver.receive(request)).status).toBe(200);
    await receiver.idle();
  }
  const [done, dead] = (await receiver.jobs.list()).jobs;
  await eventually(async () => {
    await clock.advance(20_000);
    expect(await receiver.jobs.get(done?.id ?? "")).not.toHaveProperty("delivery");
  });
  expect(await receiver.jobs.get(done?.id ?? "")).toMatchObject({
    state: "done",
    event: { type: "unknown", reason: "body-deleted" },
  });
  expect(await receiver.jobs.get(dead?.id ?? "")).toMatchObject({
    event: { id: "bad" },
    delivery: { signedBy: "default" },
  });
  expect((await receiver.jobs.list()).jobs).toHaveLength(2);
  expect(await receiver.jobs.replay({ state: "done" }, { dryRun: true })).toEqual({ count: 0 });
  expect(await receiver.jobs.replay(done?.id ?? "")).toEqual({ count: 0 });
  expect(log.of("body-deleted")).toHaveLength(1);
  expect(await receiver.jobs.replay({ state: ["done", "dead"] })).toEqual({ count: 1 });

  const shown = runCli(["inbox", "show", done?.id ?? "", "--inbox", file]);
  expect(await shown.ended).toBe(0);
  expect(shown.out()).toContain("its body is deleted");
  const exported = runCli(["inbox", "export", "--inbox", file, "--state", "done", "--show-content"]);
  expect(await exported.ended).toBe(0);
  expect(JSON.parse(exported.out().split("\n")[0] ?? "")).not.toHaveProperty("delivery");
});

test.each(["for-ever", true])("keepBodies %s is refused", (keepBodies) => {
  expect(() => sqliteInbox("inbox.db", { keepBodies: keepBodies as never })).toThrow(
    expect.objectContaining({ code: "option-invalid", message: expect.stringContaining('"until-done"') }),
  );
});
