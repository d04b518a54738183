import { DatabaseSync } from "node:sqlite";
import { createSqliteInbox } from "../../adapters/inbox/sqlite/sqlite-inbox.ts";
import type { StoredJob } from "../../src/inbox/port/jobs.ts";
import { toLogger } from "../../src/logger.ts";
import { openInline } from "../adapters/inbox/inline-thread.ts";
import { fakeClock } from "../support/fake-clock.ts";

/** What is in a file that nobody works on. */
export interface Findings {
  /** In the order of ids, each with the bytes of its delivery as text. */
  readonly jobs: readonly FoundJob[];
  /** SQLite's own word. */
  readonly integrity: unknown;
}

export interface FoundJob extends StoredJob {
  readonly body: string;
  readonly source: string | undefined;
}

export async function findIn(file: string): Promise<Findings> {
  const inbox = createSqliteInbox({ file, openThread: openInline });
  await inbox.open({ name: "default", clock: fakeClock(), log: toLogger(false), dedupeWindowMs: 60_000 });
  const jobs: FoundJob[] = [];
  for (let after: string | undefined = "0"; after !== undefined;) {
    const page: { readonly jobs: readonly StoredJob[]; readonly next?: string } = await inbox.jobs.find({
      after,
      limit: 500,
    });
    for (const job of page.jobs) {
      const whole = await inbox.jobs.get(job.id);
      jobs.push({
        ...job,
        body: Buffer.from(whole?.delivery?.bodyBase64 ?? "", "base64").toString(),
        source: whole?.delivery?.source,
      });
    }
    after = page.next;
  }
  await inbox.close();
  const db = new DatabaseSync(file);
  const integrity = db.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
  db.close();
  return { jobs, integrity };
}
