import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { mail, nobodys, raw } from "../../suites/inbox/deliveries.ts";
import { openBench, type InboxBench } from "../../suites/inbox/fixture.ts";
import { claimAll, dead, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { logRecorder, type LogRecorder } from "../../support/log-recorder.ts";
import { openInline } from "./inline-thread.ts";
import { onDisk } from "./on-disk.ts";

/** Runs SQL on a file, as somebody beside the inbox. */
export function changeFile(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

/** The path of a file that is closed, with rows in every table of jobs: of each kind some, and each of a delivery of its own. */
export async function fullFile(): Promise<string> {
  const opened = await onDisk({ openThread: openInline });
  const { inbox, file } = opened;
  for (const id of ["dead 1", "dead 2", "lost", "waits 1"]) await storeAll(inbox, mail([id]));
  const claims = await claimAll(inbox);
  for (const claim of claims.slice(0, 2)) await settleAll(inbox, claim, dead(opened));
  for (const claim of claims.slice(2)) await settleAll(inbox, claim, { to: "release" });
  for (const id of ["nobody's 1", "nobody's 2"]) await storeAll(inbox, mail([nobodys(id)]));
  await storeAll(inbox, mail(["waits 2"]), mail(["waits 3"]));
  // Expansion follows ids: what is behind a raw one waits as well.
  await inbox.store([raw(mail(["raw 1"])), raw(mail(["raw 2"]))]);
  await inbox.keyValues?.set("key", "value", 1);
  await inbox.close();
  return file;
}

/** Opens a file as the next process does, until the test ends. */
export async function reopened(
  file: string,
): Promise<InboxBench & { readonly file: string; readonly log: LogRecorder }> {
  const log = logRecorder();
  const opened = await openBench(
    { make: () => createSqliteInbox({ file, openThread: openInline }) },
    undefined,
    log.logger,
  );
  onTestFinished(() => opened.end());
  return { ...opened, file, log };
}

/** Handles all that there is, as a dispatcher does. @returns the records that were handled */
export async function handleAll({ inbox }: InboxBench): Promise<string[]> {
  const handled: string[] = [];
  for (let quiet = 0; quiet < 2;) {
    const page = await inbox.unexpanded(100);
    await inbox.expand(
      page.map(({ id, delivery }) => {
        const record = String(JSON.parse(delivery.body.toString()).payloads[0].id);
        return { id, cursor: undefined, events: mail([record]).events };
      }),
    );
    const { claims } = await inbox.claim({ max: 10, mergeMax: 1 });
    for (const claim of claims) {
      handled.push(String(JSON.parse(claim.jobs[0].delivery.body.toString()).payloads[0].id));
      expect(await inbox.settle([{ claim, outcomes: [{ to: "done" }] }])).toEqual([true]);
    }
    quiet = page.length + claims.length === 0 ? quiet + 1 : 0;
  }
  return handled;
}
