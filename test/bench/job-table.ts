import { toFigure } from "./figures.ts";
import { toLines, type Paint } from "./format-columns.ts";
import { toGoalLine, type GoalResult } from "./goal-result.ts";
import type { JobRound, JobsMeasured } from "./job-rounds.ts";
import { MEASURES } from "./measures.ts";
import type { MeasureResult } from "./measures/send-result.ts";

interface Column {
  readonly head: string;
  /** In one round. */
  readonly value: (result: MeasureResult, round: JobRound) => number | undefined;
  readonly digits?: number;
  /** The same in every round. */
  readonly exact?: true;
}

interface Part {
  readonly title: string;
  readonly measures: readonly string[];
  readonly columns: readonly Column[];
  readonly legend: string;
}

const PARTS: readonly Part[] = [
  {
    title: "Stored to done",
    measures: ["p-queue", "lanes-1", "lanes-5000", "lanes-all", "changes", "file-5000", "file-all"],
    columns: [
      figureColumn("jobs", "jobs", { exact: true }),
      figureColumn("calls", "calls", { exact: true }),
      figureColumn("ms", "ms"),
      figureColumn("jobs/s", "perSecond"),
      figureColumn("CPU us", "cpuUs", { digits: 1 }),
      { head: "over p-queue us", value: overQueue, digits: 1 },
      figureColumn("expand us", "expandUs", { digits: 1 }),
      figureColumn("run us", "runUs", { digits: 1 }),
    ],
    legend:
      "CPU us: for a job, all threads; over p-queue: more than a bare task of the same round. Expand, run: wall time.",
  },
  {
    title: "Forwarded to an app, on one core",
    measures: ["forward", "forward-bullmq"],
    columns: [
      figureColumn("events", "jobs", { exact: true }),
      figureColumn("events/s", "perSecond"),
      figureColumn("CPU us", "cpuUs", { digits: 1 }),
    ],
    legend:
      "Stored events, handed over by signed requests, 50 at once. The app, and Redis, have the other core. BullMQ keeps no order.",
  },
  {
    title: "Received to handler",
    measures: ["cold-alone", "cold-hot", "file-cold-alone", "file-cold-hot"],
    columns: [
      figureColumn("jobs", "jobs", { exact: true }),
      figureColumn("p50 ms", "p50Ms", { digits: 2 }),
      figureColumn("p99 ms", "p99Ms", { digits: 2 }),
      figureColumn("max ms", "maxMs", { digits: 1 }),
    ],
    legend: "A delivery a millisecond to one of 1,000 cold lanes; the hot one holds 100,000 jobs. Nothing is merged.",
  },
  {
    title: "Received to handler, idle",
    measures: ["file-idle", "file-idle-other"],
    columns: [
      figureColumn("jobs", "jobs", { exact: true }),
      figureColumn("p50 ms", "p50Ms", { digits: 2 }),
      figureColumn("p99 ms", "p99Ms", { digits: 2 }),
      figureColumn("max ms", "maxMs", { digits: 1 }),
    ],
    legend: "A delivery every 15 ms, and nothing else; received by the process that works, or by another one.",
  },
  {
    title: "Start",
    measures: ["file-start"],
    columns: [
      figureColumn("jobs", "jobs", { exact: true }),
      figureColumn("ms", "ms"),
      figureColumn("stall ms", "stallMs", { digits: 1 }),
      figureColumn("bytes", "bytes"),
    ],
    legend: "Time until the first handler runs, the longest stall of the event loop, and the memory of a waiting job.",
  },
  {
    title: "Unhandled",
    measures: ["file-unhandled"],
    columns: [
      figureColumn("jobs", "jobs", { exact: true }),
      figureColumn("MB", "mb", { digits: 2 }),
      figureColumn("bytes a job", "bytesBeside"),
      figureColumn("answered ms", "answeredMs", { digits: 1 }),
      figureColumn("expanded ms", "ms", { digits: 1 }),
    ],
    legend:
      "A delivery of 100 KB whose entries nobody handles. MB: file and log after a checkpoint; bytes: beside the body.",
  },
  {
    title: "Dashboard",
    measures: ["file-dashboard"],
    columns: [
      figureColumn("jobs", "jobs", { exact: true }),
      figureColumn("first ms", "firstMs", { digits: 1 }),
      figureColumn("look ms", "pollMs", { digits: 1 }),
      figureColumn("bytes", "bytes"),
      figureColumn("p99 ms", "p99Ms", { digits: 2 }),
      figureColumn("more ms", "addedMs", { digits: 2 }),
    ],
    legend:
      "First look at dead jobs, p99 of all further looks, the longest answer; p99 of a delivery's answer, and with five viewers.",
  },
  {
    title: "Received to done",
    measures: MEASURES.filter(({ file }) => file === "observers.ts").map(({ name }) => name),
    columns: [
      figureColumn("jobs", "jobs", { exact: true }),
      figureColumn("jobs/s", "perSecond"),
      figureColumn("CPU us", "cpuUs", { digits: 1 }),
      { head: "cost %", value: costOfObserver, digits: 1 },
    ],
    legend: "A delivery of one entry through a file. Cost: CPU time above that without observers in the same round.",
  },
  {
    title: "The text of a scrape",
    measures: ["observers-text"],
    columns: [figureColumn("ms", "ms", { digits: 2 }), figureColumn("kB", "kilobytes", { exact: true })],
    legend: "With a handler for every event, and two consumers.",
  },
  {
    title: "Turns of accounts",
    measures: ["turns", "turns-none"],
    columns: [figureColumn("starts before", "starts"), figureColumn("least share", "share", { digits: 2 })],
    legend:
      "Starts before the single job of an account that comes behind all lanes of another one; and the least that an account gets, of an equal share.",
  },
  {
    title: "Waiting",
    measures: ["waiting", "waiting-single"],
    columns: [
      figureColumn("jobs", "jobs", { exact: true }),
      figureColumn("bytes", "bytes"),
      figureColumn("without the body", "bytesBeside"),
      figureColumn("most in p-queue", "held", { exact: true }),
    ],
    legend:
      "Bytes of heap and buffers for a waiting job, each in its own lane; p-queue is observed while all of them run.",
  },
];

/** The figures of the working stage as text, with failures and goals. */
export function toJobTable({ rounds, failures }: JobsMeasured, reached: readonly GoalResult[], paint: Paint): string {
  const parts = PARTS.flatMap(({ title, measures, columns, legend }) => {
    const rows = MEASURES.flatMap((measure) => {
      const known = measures.includes(measure.name) && rounds.some((round) => round.has(measure.name));
      return known ? [[measure.title, ...columns.map((column) => toCell(column, measure.name, rounds))]] : [];
    });
    return rows.length === 0
      ? []
      : [[...toLines([[title, ...columns.map(({ head }) => head)], ...rows], paint), "", legend].join("\n")];
  });
  const failed = [...failures].map(([name, why]) => paint("red", `${name} failed: ${why}`));
  const goalLines = reached.map((one) => toGoalLine(one, paint));
  return [...parts, failed.join("\n"), goalLines.join("\n")].filter((text) => text !== "").join("\n\n");
}

function figureColumn(head: string, figure: string, format: Pick<Column, "digits" | "exact"> = {}): Column {
  return { head, value: (one) => one[figure], ...format };
}

function overQueue(one: MeasureResult, round: JobRound): number | undefined {
  const bare = round.get("p-queue")?.["cpuUs"];
  return bare === undefined || one === round.get("p-queue") ? undefined : (one["cpuUs"] ?? Number.NaN) - bare;
}

function costOfObserver(one: MeasureResult, round: JobRound): number | undefined {
  const bare = round.get("observers");
  return bare === undefined || one === bare ? undefined : ((one["cpuUs"] ?? 0) / (bare["cpuUs"] ?? 0) - 1) * 100;
}

function toCell({ value, digits = 0, exact }: Column, name: string, rounds: readonly JobRound[]): string {
  const values = rounds.flatMap((round) => {
    const one = round.get(name);
    return one === undefined ? [] : (value(one, round) ?? []);
  });
  if (values.length === 0) return "";
  const { median, min, max } = toFigure(values);
  const [middle, low, high] = [median, min, max].map((number) => toText(number, digits)) as [string, string, string];
  return exact === true || values.length === 1 ? middle : `${middle} (${low}-${high})`;
}

function toText(number: number, digits: number): string {
  return number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
