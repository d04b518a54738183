import { describe, expect, it } from "vitest";
import type { Paint } from "./format-columns.ts";
import { measuresOf } from "./job-bench.ts";
import { jobGoalResultsOf } from "./job-goals.ts";
import { measureJobs, type JobPlan, type JobRound } from "./job-rounds.ts";
import { toJobTable } from "./job-table.ts";
import { MEASURES } from "./measures.ts";
import { contendersOf } from "./request-bench.ts";
import { runMeasure } from "./run-measure.ts";

const plain: Paint = (_style, text) => text;

describe("selection", () => {
  const names = (only: string[] | undefined) => measuresOf(only).map(({ name }) => name);

  it("takes all by default, and the bare task as a baseline", () => {
    expect(names(undefined)).toEqual(MEASURES.map(({ name }) => name));
    expect(names(["lanes-1"])).toEqual(["p-queue", "lanes-1"]);
    expect(names(["waiting"])).toEqual(["waiting"]);
  });

  it("measures no requests when only jobs are chosen, and vice versa", () => {
    expect(contendersOf(["lanes-1"])).toEqual([]);
    expect(contendersOf(["node"]).map(({ name }) => name)).toEqual(["verify-only", "node"]);
    expect(names(["node"])).toEqual([]);
  });
});

describe("rounds of jobs", () => {
  const measures = MEASURES.filter(({ name }) => ["p-queue", "changes", "waiting"].includes(name));

  async function measure(run: JobPlan["run"], quick = false) {
    return measureJobs({ measures, rounds: 3, quick, run, log: () => {} });
  }

  it("interleave, and run a deterministic measure once", async () => {
    const files: string[] = [];
    const { rounds } = await measure(async (file) => ({ at: files.push(file) }));
    expect(files.map((file) => file.replace(".ts", "")).join(" ")).toBe(
      "tasks changes waiting tasks changes tasks changes",
    );
    expect(rounds.map((round) => [...round.keys()].length)).toEqual([3, 2, 2]);
  });

  it("are smaller with --quick", async () => {
    const sizes: (readonly number[])[] = [];
    await measure(async (_file, given) => ({ at: sizes.push(given) }), true);
    expect(sizes.slice(0, 3)).toEqual(measures.map(({ quickSizes }) => quickSizes));
  });

  it("leave out one that fails, the rounds before included", async () => {
    let calls = 0;
    const { rounds, failures } = await measure(async (file) => {
      if (file === "changes.ts" && (calls += 1) === 2) throw new Error("out of order");
      return { jobs: 1 };
    });
    expect(calls).toBe(2);
    expect(rounds.some((round) => round.has("changes"))).toBe(false);
    expect([...failures]).toEqual([["changes", "out of order"]]);
  });
});

describe("goals of jobs", () => {
  const goal = (rounds: readonly JobRound[], says: string) =>
    jobGoalResultsOf(rounds).find((reached) => reached.says.includes(says));
  const lanes = (...[one, some, all]: number[]): JobRound =>
    new Map(Object.entries({ "lanes-1": one, "lanes-5000": some, "lanes-all": all }).map(toRates));
  const cold = (alone: number, hot: number): JobRound =>
    new Map([
      ["cold-alone", { p50Ms: alone, p99Ms: alone }],
      ["cold-hot", { p50Ms: hot, p99Ms: hot }],
    ]);

  it("compare the slowest with the fastest of a round", () => {
    expect(goal([lanes(90, 100, 80)], "lanes")).toMatchObject({ figure: { median: 0.8 }, reached: true });
    expect(goal([lanes(100, 90, 79)], "lanes")).toMatchObject({ figure: { median: 0.79 }, reached: false });
  });

  it("use the median of the rounds", () => {
    expect(goal([cold(1, 9), cold(1, 1.5), cold(1, 1)], "p50")).toMatchObject({
      figure: { median: 1.5, min: 1, max: 9 },
      reached: true,
    });
    expect(goal([cold(1, 1), cold(1, 1.6), cold(1, 2)], "p50")?.reached).toBe(false);
    expect(goal([cold(20, 11)], "p99 beside a hot lane, ms")?.reached).toBe(false);
  });

  it("are evaluated only if all of their sides were measured", () => {
    expect(jobGoalResultsOf([new Map([["lanes-1", { perSecond: 1 }]])])).toEqual([]);
  });
});

describe("table of jobs", () => {
  it("has a part for each kind of measure, with failures and goals below", () => {
    const round = (cpuUs: number): JobRound =>
      new Map([
        ["p-queue", { jobs: 1_000, calls: 1_000, ms: 4, perSecond: 250_000, cpuUs: 3 }],
        ["changes", { jobs: 1_000, calls: 1, ms: 8, perSecond: 125_000, cpuUs }],
        ["cold-alone", { jobs: 50, p50Ms: 0.25, p99Ms: 1, maxMs: 2 }],
        ["cold-hot", { jobs: 50, p50Ms: 0.5, p99Ms: 1, maxMs: 2 }],
      ]);
    const rounds = [round(9), round(12), round(10)];
    const measured = { rounds, failures: new Map([["waiting", "out of order"]]) };
    const reached = jobGoalResultsOf(rounds);
    expect(toJobTable(measured, reached, plain)).toMatchInlineSnapshot(`
      "Stored to done                 jobs  calls       ms                     jobs/s           CPU us  over p-queue us  expand us  run us
      bare p-queue                  1,000  1,000  4 (4-4)  250,000 (250,000-250,000)    3.0 (3.0-3.0)
      hookline, merged by .changes  1,000      1  8 (8-8)  125,000 (125,000-125,000)  10.0 (9.0-12.0)    7.0 (6.0-9.0)

      CPU us: for a job, all threads; over p-queue: more than a bare task of the same round. Expand, run: wall time.

      Received to handler          jobs            p50 ms            p99 ms         max ms
      hookline, cold lanes alone     50  0.25 (0.25-0.25)  1.00 (1.00-1.00)  2.0 (2.0-2.0)
      hookline, beside a hot lane    50  0.50 (0.50-0.50)  1.00 (1.00-1.00)  2.0 (2.0-2.0)

      A delivery a millisecond to one of 1,000 cold lanes; the hot one holds 100,000 jobs. Nothing is merged.

      waiting failed: out of order

      cold p50 beside a hot lane / alone: 2.00, goal at most 1.5: missed
      cold p99 beside a hot lane / alone: 1.00, goal at most 1.5: reached
      cold p99 beside a hot lane, ms: 1.00, goal at most 10: reached
      calls for merged changes / their jobs: 0.0010, goal at most 0.001: reached"
    `);
  });

  it("highlights heads, our own rows, failures and goals where there are colours", () => {
    const rounds = [new Map([["cold-hot", { jobs: 1, p50Ms: 1, p99Ms: 11, maxMs: 11 }]])];
    const styles: string[] = [];
    const measured = { rounds, failures: new Map([["changes", "out of order"]]) };
    toJobTable(measured, jobGoalResultsOf(rounds), (style, text) => {
      styles.push(style);
      return text;
    });
    expect(styles.toSorted()).toEqual(["bold", "bold", "red", "yellow"]);
  });
});

describe("measures", () => {
  it("count a call for each task of p-queue", async () => {
    expect(await runMeasure("tasks.ts", [100])).toMatchObject({ jobs: 100, calls: 100 });
  });

  it("count a call for each job where nothing is merged, in one lane or in many", async () => {
    for (const lanes of [1, 150]) {
      const result = await runMeasure("drain.ts", [150, lanes]);
      expect(result).toMatchObject({ jobs: 150, calls: 150 });
      for (const figure of ["ms", "perSecond", "cpuUs", "expandUs", "runUs"]) expect(result[figure]).toBeGreaterThan(0);
    }
  });

  it("count the calls of merged changes", async () => {
    expect(await runMeasure("changes.ts", [2_500])).toMatchObject({ jobs: 2_500, calls: 3 });
  });

  it("take the time of cold jobs only, with a hot lane and without", async () => {
    for (const hot of [0, 5_000]) {
      const result = await runMeasure("cold.ts", [hot, 2]);
      expect(result["jobs"]).toBeLessThanOrEqual(2);
      expect(result["p99Ms"]).toBeGreaterThan(0);
      expect(result["p99Ms"]).toBe(result["maxMs"]);
    }
  });

  it("measure the memory of waiting jobs, with at most twice the concurrency in p-queue", async () => {
    const result = await runMeasure("waiting.ts", [3_000, 100]);
    expect(result["bytes"]).toBeGreaterThan(result["bytesBeside"] ?? Number.NaN);
    expect(result["held"]).toBeGreaterThan(0);
    expect(result["heldOfConcurrency"]).toBeLessThanOrEqual(2);
  });

  it.each([
    ["drain.ts", [150, 150], { jobs: 150, calls: 150 }],
    ["cold.ts", [0, 2], { jobs: expect.any(Number) }],
    ["latency.ts", [2, 0], { jobs: 2 }],
    ["latency.ts", [2, 1], { jobs: 2 }],
    ["start.ts", [300], { jobs: 300 }],
    ["unhandled.ts", [50, 1], { jobs: 50 }],
  ])("%s of %j runs on a file, too", async (file, sizes, figures) => {
    expect(await runMeasure(file, sizes, "sqlite")).toMatchObject(figures);
  });

  it("report why they failed", async () => {
    await expect(runMeasure("tasks.ts", [Number.NaN])).rejects.toThrow("expected");
    await expect(runMeasure("none.ts", [])).rejects.toThrow("none.ts");
  });
});

function toRates([name, perSecond]: [string, number | undefined]): [string, Readonly<Record<string, number>>] {
  return [name, { perSecond: perSecond ?? Number.NaN }];
}
