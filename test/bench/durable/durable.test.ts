import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { serve } from "../../support/http.ts";
import type { Sample } from "../figures.ts";
import type { GoalResult } from "../goal-result.ts";
import { durableGoalResultsOf } from "./goals.ts";
import type { Pairs, RowMeasured } from "./measure-row.ts";
import { offerLoad, type OpenLoad } from "./open-load.ts";
import { DURABLE } from "./rows.ts";
import { toDurableTable } from "./table.ts";

const RATE = { perSecond: 400, seconds: 0.25 };
/** Half a second at the same rate comes before. */
const WARM_UP = 200;

describe("a load at a fixed rate", () => {
  it("sends the next request while no answer comes", async () => {
    const held: ServerResponse[] = [];
    const { port, connections } = await serve((req, res) => {
      req.resume();
      held.push(res);
      if (held.length === WARM_UP + 100) for (const one of held) one.end();
    });
    const load = await offerLoad({ port, ...RATE, core: undefined });
    expect(load).toMatchObject({ perSecond: 400, offered: 100, unsent: 0 });
    expect(connections()).toBe(WARM_UP + 100);
  });

  it("reuses connections, and takes the time from when a request was due", async () => {
    const { port, connections } = await serve((req, res) => void req.resume().on("end", () => res.end()));
    const { p50Ms, p99Ms, maxMs } = await offerLoad({ port, ...RATE, core: undefined });
    expect(connections()).toBeLessThan(WARM_UP + 100);
    expect([p50Ms, p99Ms, maxMs].toSorted((a, b) => a - b)).toEqual([p50Ms, p99Ms, maxMs]);
    expect(p50Ms).toBeGreaterThan(0);
  });

  it("fails on another answer than 200", async () => {
    const { port } = await serve((_req, res) => void res.writeHead(503).end());
    await expect(offerLoad({ port, ...RATE, core: undefined })).rejects.toThrow("Expected 200, got: HTTP/1.1 503");
  });
});

describe("what stores on disk", () => {
  const verifyOnly = sample(20_000, 40);
  const warm = pairs([sample(16_000, 60), sample(14_000, 56), sample(10_000, 72)], verifyOnly);
  const cold = pairs([sample(8_000, 100)], verifyOnly);
  const half = { own: [openLoad(4)], baseline: [openLoad(1)] };
  const measured = new Map<string, RowMeasured>([["sqlite-handler", { warm, cold, half }]]);

  it("is compared with verify only slice by slice, warm and cold", () => {
    const results = durableGoalResultsOf(measured);
    expect(figureOf(results, "with a handler, 64 connections, of verify only")).toMatchObject({
      figure: { median: 0.7, min: 0.5, max: 0.8 },
      reached: true,
    });
    expect(figureOf(results, "with a handler, 64 connections, cold")).toMatchObject({
      figure: { median: 0.4 },
      reached: false,
    });
    expect(figureOf(results, "CPU time with a handler, of verify only")).toMatchObject({
      figure: { median: 1.5, min: 1.4, max: 1.8 },
      reached: false,
    });
    expect(figureOf(results, "offered half of its capacity, p99 ms")).toMatchObject({ reached: true });
    expect(results.some(({ says }) => says.includes("fsync"))).toBe(false);
  });

  it("has a table of its slices, and one of the load at a fixed rate", () => {
    const rows = DURABLE.filter(({ name }) => ["sqlite-receive", "sqlite-handler"].includes(name));
    const failures = new Map([["sqlite-receive", "out of order"]]);
    const text = toDurableTable({ rows, measured, failures, reached: [] }, (_style, line) => line);
    expect(text.split("\n").filter((line) => line.startsWith("SQLite") || line.includes("failed"))).toEqual([
      "SQLite, with a handler  14,000  0.70 (0.50-0.80)  0.40 (0.40-0.40)    60.0  1.50 (1.40-1.80)  2.50 (2.50-2.50)  84 %     1.0",
      "SQLite, with a handler       7,000     1.0  4.00 (4.00-4.00)       5  1.00 (1.00-1.00)       0",
      "sqlite-receive failed: out of order",
    ]);
  });
});

function figureOf(results: readonly GoalResult[], says: string): GoalResult | undefined {
  return results.find((result) => result.says === says);
}

function pairs(own: readonly Sample[], baseline: Sample): Pairs {
  return { own, baseline: own.map(() => baseline) };
}

function sample(perSecond: number, cpuUs: number): Sample {
  return { perSecond, cpuUs, p99Ms: 1, backlog: 0 };
}

function openLoad(p99Ms: number): OpenLoad {
  return { perSecond: 7_000, offered: 7_000, unsent: 0, p50Ms: 1, p99Ms, maxMs: p99Ms + 1 };
}
