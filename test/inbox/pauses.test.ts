import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createPausedCount, createPauses } from "../../src/inbox/pauses.ts";

const NOW = 1_000;

function stored(...texts: readonly string[]) {
  return at(() => NOW, ...texts);
}

function at(now: () => number, ...texts: readonly string[]) {
  return createPauses({ read: async () => texts, write: async () => true, waitingJobs: async () => [] }, now);
}

test.each([
  "",
  "{",
  "null",
  "7",
  "[]",
  "{}",
  '{"reason":"of nothing","since":1}',
  '{"consumer":7,"reason":"r","since":1}',
  '{"accountId":"1","reason":"r","since":1}',
  '{"consumer":"a","reason":"r"}',
  '{"consumer":"a","reason":"r","since":1e300}',
  '{"consumer":"a","reason":"r","since":1,"until":"later"}',
])("a pause that is stored as %j holds nothing, and keeps no other from being known", async (damaged) => {
  const pauses = stored(damaged, JSON.stringify({ accountId: 2, reason: "r", since: 1 }));
  await pauses.refresh();
  expect(pauses.current()).toEqual([{ accountId: 2, reason: "r", since: 1 }]);
  expect(pauses.isPaused({ consumer: "a", account: 1 })).toBe(false);
  expect(pauses.isPaused({ consumer: "a", account: 2 })).toBe(true);
});

test("a pause ends at its time, not before", async () => {
  const pauses = stored(
    JSON.stringify({ consumer: "over", reason: "r", since: 1, until: NOW }),
    JSON.stringify({ consumer: "a", reason: "r", since: 1, until: NOW + 1 }),
  );
  await pauses.refresh();
  expect(pauses.current().map(({ consumer }) => consumer)).toEqual(["a"]);
});

test("a pause that ended while the clock was ahead for a moment holds again, and the list is the same one while nothing changes", async () => {
  const pause = (accountId: number, until?: number): string =>
    JSON.stringify({ accountId, reason: "r", since: 1, until });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(fc.nat(9), { nil: undefined })),
      fc.array(fc.nat(11)),
      async (untils, times) => {
        let time = 0;
        const pauses = at(() => time, ...untils.map((until, account) => pause(account, until)));
        await pauses.refresh();
        for (time of times) {
          const held = untils.flatMap((until = Infinity, account) => (until > time ? account : []));
          const list = pauses.current();
          expect(list.map(({ accountId }) => accountId)).toEqual(held);
          expect(pauses.current()).toBe(list);
          for (const account of untils.keys()) expect(pauses.isPaused({ account })).toBe(held.includes(account));
        }
      },
    ),
  );
});

test("of two looks that overlap the answer of the one that began last holds", async () => {
  const answers: ((texts: readonly string[]) => void)[] = [];
  const read = () => new Promise<readonly string[]>((answer) => answers.push(answer));
  const pauses = createPauses({ read, write: async () => true, waitingJobs: async () => [] }, () => NOW);
  const looks = [pauses.refresh(), pauses.refresh()];
  answers[1]?.([JSON.stringify({ accountId: 1, reason: "r", since: 1 })]);
  expect(await looks[1]).toBe(true);
  answers[0]?.([]);
  expect(await looks[0]).toBe(false);
  expect(pauses.isPaused({ consumer: "a", account: 1 })).toBe(true);
});

test("waiting jobs are looked at once for all pauses: of an account, of a consumer, and of both", async () => {
  let looks = 0;
  const jobs = [
    { account: 1, consumer: "crm", jobs: 2 },
    { account: 1, consumer: "search", jobs: 3 },
    { account: 2, consumer: "crm", jobs: 5 },
    { account: null, consumer: "crm", jobs: 7 },
    { account: null, consumer: null, jobs: 11 },
    { account: 1, consumer: "crm", jobs: 13 }, // of another part
  ];
  async function waitingJobs(accounts: readonly number[], consumers: readonly string[]) {
    looks += 1;
    expect([accounts, consumers]).toEqual([
      [1, 1, 3],
      ["crm", "crm"],
    ]);
    return jobs;
  }
  const pauses = createPauses({ read: async () => [], write: async () => true, waitingJobs }, () => NOW);
  const asked = [{ accountId: 1 }, { consumer: "crm" }, { accountId: 1, consumer: "crm" }, { accountId: 3 }];
  expect(await pauses.waiting(asked)).toEqual([18, 27, 15, 0]);
  expect([await pauses.waiting([]), looks]).toEqual([[], 1]);
});

describe("what a pause holds", () => {
  const rowsOf = (count: number) => Array.from({ length: count }, (_, nth) => ({ account: nth % 2, receivedAt: nth }));
  const isOdd = ({ account }: { readonly account?: number | undefined }): boolean => account === 1;

  test("is counted each time where it is few", () => {
    const count = createPausedCount();
    expect(count(rowsOf(10), isOdd)).toEqual({ pausedWaiting: 5, oldestWaitingAt: 0 });
    expect(count(rowsOf(2), () => true)).toEqual({ pausedWaiting: 2, oldestWaitingAt: undefined });
  });

  test("is not counted at each look where it is many, and again after a moment", () => {
    const now = vi.spyOn(performance, "now").mockReturnValue(1_000);
    onTestFinished(() => now.mockRestore());
    const count = createPausedCount();
    expect(count(rowsOf(200_000), isOdd).pausedWaiting).toBe(100_000);
    now.mockReturnValue(1_199);
    expect(count([], isOdd).pausedWaiting).toBe(100_000);
    now.mockReturnValue(1_200);
    expect(count([], isOdd).pausedWaiting).toBe(0);
  });
});
