import { join } from "node:path";
import { statSync } from "node:fs";
import type { JobOutcome } from "hookline/adapter";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { mail, nobodys, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { openInline } from "./inline-thread.ts";
import { folderFor } from "./on-disk.ts";

const ENTRIES = 1_000;
const ids = Array.from({ length: ENTRIES }, (_, index) => `msg-${String(index).padStart(6, "0")}`);
const DEAD = { to: "dead", error: { name: "Error", message: "no", at: 0 } } as const satisfies JobOutcome;

/** An empty inbox, and what its file and its log take after a checkpoint. */
async function emptyInbox() {
  const file = join(folderFor(), "inbox.db");
  let checkpoint: (() => void) | undefined;
  const { inbox, end } = await openBench({
    make: () =>
      createSqliteInbox({
        file,
        openThread: (options, events) =>
          openInline(options, events, {
            opened: (db) => (checkpoint = () => db.exec("PRAGMA wal_checkpoint(TRUNCATE)")),
          }),
      }),
  });
  onTestFinished(end);
  function bytes(): number {
    checkpoint?.();
    return statSync(file).size + (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  }
  const empty = bytes();
  return { inbox, grown: (): number => bytes() - empty };
}

function longMail(entries: readonly MailEntry[], bodyBytes: number) {
  const { length } = mail(entries).delivery.body;
  return mail(entries, { filler: "x".repeat(bodyBytes - length) });
}

test("one delivery of 100 KB with 1,000 unhandled entries takes at most 1 MB", async () => {
  const { inbox, grown } = await emptyInbox();
  await inbox.store([longMail(ids.map(nobodys), 100_000)]);
  expect(inbox.stats().unhandled).toBe(ENTRIES);
  expect(grown()).toBeLessThan(1024 * 1024);
});

// With lanes of 18 bytes. A dead job's error is 38 of its bytes.
test.each<[string, number, (id: string) => MailEntry, JobOutcome | undefined]>([
  ["is unhandled", 140, nobodys, undefined],
  ["waits", 140, (id) => ({ id, lane: `default ${id}` }), undefined],
  ["is dead", 260, (id) => ({ id, lane: `default ${id}` }), DEAD],
])("a job that %s takes at most %i bytes beside the body, however long that is", async (_, most, entry, outcome) => {
  for (const bodyBytes of [70_000, 700_000]) {
    const { inbox, grown } = await emptyInbox();
    await inbox.store([longMail(ids.map(entry), bodyBytes)]);
    if (outcome !== undefined) {
      const { claims } = await inbox.claim({ max: ENTRIES, mergeMax: 1 });
      await inbox.settle(claims.map((claim) => ({ claim, outcomes: [outcome] })));
      expect(inbox.stats().dead).toBe(ENTRIES);
    }
    expect((grown() - bodyBytes) / ENTRIES).toBeLessThan(most);
  }
});
