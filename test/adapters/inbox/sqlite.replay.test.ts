import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { mail, nobodys, raw } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";

const ALL = { limit: 100 };

async function bench() {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  const file = join(folder, "inbox.db");
  const opened = await openBench({
    make: () => createSqliteInbox({ file }),
    cleanup: () => rmSync(folder, { recursive: true }),
  });
  onTestFinished(() => opened.end());
  const { inbox, host } = opened;

  async function runAll(): Promise<void> {
    const { claims } = await inbox.claim({ max: 100, mergeMax: 1 });
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: [{ to: "done" }] })));
  }
  return { inbox, host, file, runAll };
}

test("what is done can be replayed by its id, however its job was made", async () => {
  const { inbox, runAll } = await bench();
  const [first, parts] = [mail(["a", "b"]), mail(["c", "d"])];
  await inbox.store([first, raw(parts), raw(mail(["e"]))]);
  await inbox.expand([{ id: "4", events: parts.events.slice(0, 1), cursor: 1 }]);
  await inbox.expand([
    { id: "4", events: parts.events.slice(1), cursor: undefined },
    { id: "5", events: mail(["e"]).events, cursor: undefined },
  ]);
  await runAll();
  const { jobs } = await inbox.jobs.find(ALL);
  expect(jobs.map(({ lane, state }) => `${lane} ${state}`)).toEqual(
    ["a", "b", "c", "d", "e"].map((id) => `default ${id} done`),
  );
  for (const { id } of jobs) expect(await inbox.jobs.replay({ ids: [id] })).toBe(1);
  await runAll();
  const again = await inbox.jobs.find(ALL);
  expect(again.jobs).toHaveLength(10);
  expect(await inbox.jobs.replay({ ids: again.jobs.map(({ id }) => id) })).toBe(10);
  expect(inbox.stats()).toMatchObject({ waiting: 10, unexpanded: 0 });
});

test("what was dropped takes no other job of its delivery along", async () => {
  const { inbox, runAll } = await bench();
  const late = mail(["a", "b"]);
  await inbox.store([raw(late)]);
  await inbox.expand([{ id: "1", events: late.events, cursor: undefined }]);
  expect(await inbox.jobs.drop({ ids: ["2"] })).toBe(1);
  await runAll();
  expect(await inbox.jobs.find(ALL)).toMatchObject({ jobs: [{ id: "3", state: "done" }] });
  expect(await inbox.jobs.replay({ ids: ["2", "3"] })).toBe(1);
});

test("a process that only receives counts what is in the file", async () => {
  const { inbox, host, file } = await bench();
  const receiving = createSqliteInbox({ file });
  await receiving.open(host);
  onTestFinished(() => receiving.close());
  await inbox.store([mail(["a", nobodys("b")])]);
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  await inbox.store([mail(["c"])]);
  await receiving.store([raw(mail(["d"]))]);
  const { receivedAt } = mail(["a"]).delivery;
  const counts = { unexpanded: 1, waiting: 1, running: 1, dead: 0, unhandled: 1, oldestWaitingAt: receivedAt };
  expect(receiving.stats()).toMatchObject(counts);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [{ to: "done" }] })));
  await receiving.store([raw(mail(["e"]))]);
  expect(receiving.stats()).toMatchObject({ ...counts, unexpanded: 2, running: 0 });
});
