import { describe, expect, it } from "vitest";
import { postgresRowsOf } from "./bench.ts";
import { checkOrder } from "./check-order.ts";
import { postgresGoalResultsOf } from "./goals.ts";
import { whySkipped } from "./queue-server.ts";
import { QUEUES } from "./queue.ts";
import { measurePostgres } from "./rounds.ts";
import { POSTGRES_ROWS } from "./rows.ts";

describe("the order that a drain checks", () => {
  const check = (ranAt: readonly number[][], ordered = true) =>
    checkOrder(
      ranAt.map((times) => Float64Array.from(times)),
      { jobs: 4, lanes: 2, ordered },
    );

  it("holds for jobs that ran once and one after the other in their lanes", () => {
    expect(
      check([
        [1, 0, 5],
        [0, 2, 0, 4],
      ]),
    ).toEqual({ firstAt: 1, lastAt: 5 });
  });

  it("does not hold for a job that ran twice, never, or before the one in front of it", () => {
    expect(() =>
      check([
        [1, 2, 3, 4],
        [0, 3],
      ]),
    ).toThrow("Job 1 ran in 2 workers");
    expect(() => check([[1, 2, 3]])).toThrow("Job 3 ran in 0 workers");
    expect(() =>
      check([
        [3, 0, 2],
        [0, 1, 0, 4],
      ]),
    ).toThrow("Job 2 ran before 0");
    expect(() =>
      check(
        [
          [3, 0, 2],
          [0, 1, 0, 4],
        ],
        false,
      ),
    ).not.toThrow();
  });
});

it("measures nothing here unless it is chosen", () => {
  expect(postgresRowsOf(undefined)).toEqual([]);
  expect(postgresRowsOf(["postgres-idle"]).map(({ name }) => name)).toEqual(["postgres-idle"]);
});

it("names why a contender is skipped", () => {
  expect(whySkipped(QUEUES[1], false)).toContain("npm ci in test/bench");
  expect(whySkipped(QUEUES[0], false)).toBeUndefined();
});

it("measures a row of each kind of the PostgreSQL inbox in a small form", { timeout: 300_000 }, async () => {
  const contenders = QUEUES.filter(({ name }) => name === "hookline");
  // The others do the same in more processes, or with more jobs.
  const rows = POSTGRES_ROWS.filter(({ name }) => !/-(?:receive-[24]|store-[14]|500000|busy|second)$/.test(name));
  const measured = await measurePostgres({ rows, contenders, rounds: 1, quick: true, log: () => {} });
  expect([...measured.failures]).toEqual([]);
  expect([...measured.rounds[0]!.keys()]).toEqual(rows.map(({ name }) => name));
  expect(postgresGoalResultsOf(measured.rounds).map(({ says }) => says)).toContain(
    "cold p50 beside a hot lane in PostgreSQL / alone",
  );
});
