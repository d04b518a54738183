import type { Claim, Clock, InboxHost, WorkingInbox } from "hookline/adapter";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createSqliteInbox, type SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { eventually } from "../../support/eventually.ts";
import { fastTmpdir } from "../../support/fast-tmpdir.ts";

/** A folder that goes with the test. */
export function folderFor(parent: string = fastTmpdir()): string {
  const folder = mkdtempSync(join(parent, "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An SQLite inbox that is open and worked on until the test ends. */
export async function onDisk(options: Partial<SqliteOptions> = {}) {
  const file = join(folderFor(), "inbox.db");
  const opened = await openBench({ make: () => createSqliteInbox({ file, ...options }) });
  onTestFinished(() => opened.end());
  const isReady = (): Promise<void> => eventually(() => expect(opened.inbox.ready().ready).toBe(true));
  return { ...opened, file, isReady };
}

/** Another one on the same file, until the test ends. */
export async function beside(
  file: string,
  host: InboxHost,
  options: Partial<SqliteOptions> = {},
): Promise<WorkingInbox> {
  const inbox = createSqliteInbox({ file, ...options });
  await inbox.open(host);
  onTestFinished(() => inbox.close());
  return inbox;
}

/** What a claim of one job gives; undefined where nothing can be claimed. */
export async function claimOne(inbox: WorkingInbox): Promise<Claim | undefined> {
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  return claims[0];
}

/** The records of the jobs that can be claimed now, and are. */
export async function claimedIds(inbox: WorkingInbox): Promise<string[]> {
  const { claims } = await inbox.claim({ max: 10, mergeMax: 1 });
  return claims.map(({ jobs: [{ delivery }] }) => String(JSON.parse(delivery.body.toString()).payloads[0].id));
}

export const DONE = { to: "done" } as const;

/** Timers that fire when the test says so: half of a thread's time of silence each. */
export function silence() {
  let timers: (() => void)[] = [];
  const setTimer: Clock["setTimer"] = (run) => {
    timers.push(run);
    return { clear: () => void (timers = timers.filter((one) => one !== run)) };
  };
  return {
    setTimer,
    /** Half of the time passes. */
    half() {
      const due = timers.splice(0);
      for (const run of due) run();
    },
  };
}
