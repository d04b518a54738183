import { expect, test } from "vitest";
import { countWaitingJobs } from "../../../adapters/inbox/sqlite/upkeep/waiting-jobs.ts";
import type { CommitQueue } from "../../../adapters/inbox/sqlite/store/commit-queue.ts";

test("waiting jobs are counted page by page: other queries have a turn between two of them", async () => {
  const asked: unknown[] = [];
  const pages = [
    { last: 70_000, rows: '[{"account":1,"consumer":"crm","jobs":2}]' },
    { last: 90_000, rows: "[]" },
    { last: null, rows: "[]" },
  ];
  const add = async (verb: string, page: unknown): Promise<unknown> => {
    asked.push([verb, page]);
    return pages[asked.length - 1];
  };
  expect(await countWaitingJobs({ add } as unknown as CommitQueue, { accounts: [1], consumers: ["crm"] })).toEqual([
    { account: 1, consumer: "crm", jobs: 2 },
  ]);
  expect(asked).toEqual(
    [0, 70_000, 90_000].map((after) => [
      "countWaiting",
      { after, limit: 50_000, accounts: "[1]", consumers: '["crm"]' },
    ]),
  );
});
