import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseArguments } from "./arguments.ts";
import { checkAnswers } from "./check-answers.ts";
import { BASELINE, CONTENDERS, MOUNTS, type Contender } from "./contenders.ts";
import { DURABLE_GOALS } from "./durable/goals.ts";
import { DURABLE } from "./durable/rows.ts";
import { hasPeers } from "./external-tools.ts";
import { toFigure, toQuantile, toRow, type Sample } from "./figures.ts";
import type { Paint } from "./format-columns.ts";
import { goalResultsOf, toBoundText } from "./goal-result.ts";
import { requestGoalResultsOf } from "./goals.ts";
import { JOB_GOALS } from "./job-goals.ts";
import { readLoad } from "./load.ts";
import { toCores } from "./machine.ts";
import { MEASURES } from "./measures.ts";
import { signedRequest, toLua, toWire } from "./requests.ts";
import { startServer } from "./server.ts";
import { BODY_BYTES, SIGNINGS, type SigningName } from "./signing.ts";
import { toPageTable } from "./page-table.ts";
import { toTable } from "./table.ts";

describe("arguments", () => {
  it("measures everything in three rounds by default", () => {
    expect(parseArguments([])).toEqual({ help: false, quick: false, rounds: 3 });
  });

  it("takes several names, by commas or flag by flag", () => {
    const args = ["--quick", "--only", "node,koa", "--only=bolt", "--json", "figures.json", "--page", "page.md"];
    expect(parseArguments(args)).toMatchObject({
      quick: true,
      only: ["node", "koa", "bolt"],
      json: "figures.json",
      page: "page.md",
    });
  });

  it("takes a set for all of its names", () => {
    expect(parseArguments(["--only", "jobs,node"]).only).toEqual([...MEASURES.map(({ name }) => name), "node"]);
  });

  it.each([
    [["--fast"], "--fast"],
    [["--json"], "--json"],
    [["--json="], "--json"],
    [["--page="], "--page"],
    [["--only", "nodes"], '--only got "nodes", expected one of bare, verify-only'],
    [["--rounds", "2"], '--rounds got "2", expected a whole number from 3 on'],
    [["--quick=yes"], "--quick"],
    [["node"], "node"],
  ])("names what is wrong in %j", (args, named) => {
    expect(() => parseArguments(args)).toThrow(named);
  });
});

describe("figures", () => {
  it("is the median, of an odd number and of an even one", () => {
    expect(toFigure([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(toFigure([4, 1, 2, 10])).toEqual({ median: 3, min: 1, max: 10 });
  });

  it("has quantiles", () => {
    const values = [5, 1, 4, 2, 3];
    expect([0, 0.2, 0.5, 0.99, 1].map((share) => toQuantile(values, share))).toEqual([1, 1, 3, 5, 5]);
  });

  it("compares each round with the baseline of the same round", () => {
    const baseline = [sample(100, 10), sample(50, 20), sample(100, 10)];
    const row = toRow({ name: "a", title: "A" }, [sample(50, 20), sample(50, 20), sample(80, 8)], baseline);
    expect(row.ratio).toEqual({ median: 0.8, min: 0.5, max: 1 });
    expect(row.cpuRatio).toEqual({ median: 1, min: 0.8, max: 2 });
    expect(row.backlog).toBeUndefined();
  });

  it("evaluates a goal only if both of its sides were measured", () => {
    const samples = new Map([
      [BASELINE, [sample(100, 10)]],
      ["node", [sample(90, 11)]],
      ["express", [sample(40, 25)]],
    ]);
    expect(requestGoalResultsOf(samples)).toMatchObject([
      { says: "node, requests/s of verify-only", figure: { median: 0.9 }, reached: false },
    ]);
  });
});

describe("table", () => {
  const baseline = [sample(40_000, 25)];
  const rows = [
    toRow({ name: BASELINE, title: "verify only" }, baseline, baseline),
    toRow(
      { name: "node-handler", title: "hookline node, with a handler" },
      [{ ...sample(32_000, 30), backlog: 64 }],
      baseline,
    ),
  ];
  const samples = new Map([
    [BASELINE, baseline],
    ["node-handler", [sample(32_000, 30)]],
  ]);
  const failures = new Map([["koa", "out of order"]]);
  const results = { rows, failures, reached: requestGoalResultsOf(samples) };

  it("is plain text in columns, with failures and goals below", () => {
    expect(toTable(results, (_style, text) => text)).toMatchInlineSnapshot(`
      "                               requests/s   ratio (min-max)  CPU us  CPU ratio (min-max)  p99 ms  backlog
      verify only                        40,000  1.00 (1.00-1.00)    25.0     1.00 (1.00-1.00)     1.0
      hookline node, with a handler      32,000  0.80 (0.80-0.80)    30.0     1.20 (1.20-1.20)     1.0       64

      Ratios are to verify only of the same round, medians; of CPU time less is better. CPU us: the server's time on a core for a request, all threads.

      koa failed: out of order

      node-handler, requests/s of verify-only: 0.80, goal at least 0.95: missed
      node-handler, p99 of verify-only: 1.00, goal at most 1.5: reached"
    `);
  });

  it("highlights our own rows, failures and goals where there are colours", () => {
    const styles: string[] = [];
    const paint: Paint = (style, text) => {
      styles.push(style);
      return text;
    };
    toTable(results, paint);
    expect(styles.toSorted()).toEqual(["bold", "bold", "green", "red", "yellow"]);
  });
});

it("has a row with its goal in docs/benchmarks.md for each figure", () => {
  const page = readFileSync(new URL("../../docs/benchmarks.md", import.meta.url), "utf8").replaceAll(/ +/g, " ");
  const rows = [...DURABLE_GOALS, ...JOB_GOALS].map((goal) => `| ${goal.says} | ${toBoundText(goal)} |`);
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
});

it("prints the rows of a page's table with the measured figures in the last column", () => {
  const page = `| what | goal | first | second |
| --- | --- | --- | --- |
| half, p99 ms | <= 10 | 12.00 | |
| not measured | <= 1 | 2 | |`;
  const goal = { says: "half, p99 ms", most: 10 };
  const lines = toPageTable(page, goalResultsOf(goal, [8, 9.5, 9]));
  expect(lines).toEqual(["| half, p99 ms | <= 10 | 12.00 | 9.00 (8.00-9.50) |"]);
});

describe("requests", () => {
  const signings = Object.keys(SIGNINGS) as SigningName[];

  it.each(signings)("signed as %s: bodies of one length, and no record twice", (signing) => {
    const wires = [0, 1, 99_999].map((record) => toWire(signedRequest(signing, record, { atMs: Date.now() })));
    expect(new Set(wires).size).toBe(3);
    expect(new Set(wires.map((wire) => wire.length)).size).toBe(1);
    for (const wire of wires) expect(wire.slice(wire.indexOf("\r\n\r\n") + 4)).toHaveLength(BODY_BYTES);
  });

  it("are read by the script before the measurement, and every answer is checked", () => {
    const lua = toLua({ file: '/tmp/a "b"/x.requests', records: 7, bytes: 512 });
    expect(lua).toContain('io.open("/tmp/a \\"b\\"/x.requests", "rb")');
    expect(lua).toContain("for i = 1, 7 do requests[i] = assert(file:read(512)) end");
    expect(lua).toContain("at = at % 7 + 1");
    expect(lua).toContain("if status ~= 200 then others = others + 1 end");
    expect(lua).not.toContain("undefined");
  });

  it("have their result on the last line of wrk's output", () => {
    const line = '{"requests":5,"seconds":0.500000,"p99Ms":1.250,"others":0,"failed":0}';
    expect(readLoad(`Running 10m test\n\n${line}\n`)).toMatchObject({ requests: 5, seconds: 0.5, p99Ms: 1.25 });
    expect(() => readLoad("unable to connect")).toThrow("unable to connect");
  });
});

it("finds the cores that a process may use", () => {
  expect(toCores("0-3,8,10-11")).toEqual([0, 1, 2, 3, 8, 10, 11]);
  expect(toCores()).toEqual([]);
});

describe("servers", () => {
  const startedOnce = new Map([...CONTENDERS, ...MOUNTS, ...DURABLE].map((one) => [one.server.join(), one]));
  const own = [...startedOnce.values()].filter(({ kind }) => kind !== "peer");
  const peers = CONTENDERS.filter(({ kind }) => kind === "peer");

  async function expectGoodAnswers(contender: Contender): Promise<void> {
    const server = await startServer(contender);
    onTestFinished(() => server.stop());
    await checkAnswers(contender, server.port);
    const { cpuUs, backlog } = await server.usage();
    expect(cpuUs).toBeGreaterThan(0);
    expect(typeof backlog).toBe(contender.server.includes("handler") ? "number" : "undefined");
  }

  it.each(own)("$name takes a signed request and refuses a forged one", expectGoodAnswers);

  describe.skipIf(!hasPeers())("of others", () => {
    it.each(peers)("$name takes a signed request and refuses a forged one", expectGoodAnswers);
  });

  it("run on the same frameworks, whether the peers are installed or not", () => {
    const versions = (file: string) => {
      const { dependencies = {}, devDependencies = {} } = JSON.parse(
        readFileSync(new URL(file, import.meta.url), "utf8"),
      ) as Record<string, Record<string, string> | undefined>;
      return { ...devDependencies, ...dependencies };
    };
    const [house, bench] = [versions("../../package.json"), versions("package.json")];
    expect(bench["express"]).toBe(house["express"]);
    expect(bench["raw-body"]?.split(".")[0]).toBe(house["raw-body"]?.replace("^", "").split(".")[0]);
  });
});

function sample(perSecond: number, cpuUs: number): Sample {
  return { perSecond, cpuUs, p99Ms: 1 };
}
