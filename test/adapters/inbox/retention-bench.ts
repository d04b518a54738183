import type { InboxHost, JobOutcome, StoredJob } from "hookline/adapter";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqliteInbox, type SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { mail, type FullDelivery, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { turns } from "../../support/event-loop.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { openInline } from "./inline-thread.ts";

export const MINUTE_MS = 60_000;
export const KEEP_DONE_MS = 20 * MINUTE_MS;
export const KEEP_UNHANDLED_MS = 10 * MINUTE_MS;
const WINDOW_MS = 30 * MINUTE_MS;

/** An inbox that works and keeps nothing for long, on a clock that stands still. */
export async function retentionBench(options: Partial<SqliteOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  const file = join(folder, "inbox.db");
  const clock = fakeClock();
  const log = logRecorder();
  const host: InboxHost = { name: "default", clock, log: log.logger, dedupeWindowMs: WINDOW_MS };
  const make = () =>
    createSqliteInbox({
      file,
      keepDoneMs: KEEP_DONE_MS,
      keepUnhandledMs: KEEP_UNHANDLED_MS,
      openThread: openInline,
      ...options,
    });
  const inbox = make();

  async function begin(): Promise<void> {
    await inbox.open(host);
    await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
  }

  await begin();
  const peek = new DatabaseSync(file, { readOnly: true });
  return {
    inbox,
    clock,
    log,
    host,
    file,
    make,
    begin,
    /** Received now. */
    mailNow: (...entries: readonly (string | MailEntry)[]): FullDelivery => mail(entries, { receivedAt: clock.now() }),
    /** Lets what was begun get as far as its timer, then time pass. */
    async pass(minutes: number): Promise<void> {
      await turns();
      await clock.advance(minutes * MINUTE_MS);
    },
    async all(): Promise<readonly StoredJob[]> {
      return (await inbox.jobs.find({ limit: 1_000 })).jobs;
    },
    /** Claims what is due, at most so many, and settles it. */
    async settleDue(outcome: JobOutcome = { to: "done" }, max = 100): Promise<void> {
      const { claims } = await inbox.claim({ max, mergeMax: 1 });
      await inbox.settle(claims.map((claim) => ({ claim, outcomes: [outcome] })));
    },
    ask: (sql: string) => Number(Object.values(peek.prepare(sql).get() ?? {})[0]),
    rows: (table: string, where = "1") =>
      Number(peek.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${where}`).get()?.["n"]),
    async end(): Promise<void> {
      peek.close();
      await inbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
