import { toFigure, toRatios } from "../figures.ts";
import { goalResultsOf, type Goal, type GoalResult } from "../goal-result.ts";
import type { RowMeasured } from "./measure-row.ts";

interface DurableGoal extends Goal {
  readonly row: string;
  readonly values: (measured: RowMeasured) => readonly number[];
}

const warm = ({ warm: { own, baseline } }: RowMeasured) => toRatios(own, baseline, "perSecond");
const cold = ({ cold: { own, baseline } }: RowMeasured) => toRatios(own, baseline, "perSecond");
const warmCpu = ({ warm: { own, baseline } }: RowMeasured) => toRatios(own, baseline, "cpuUs");

export const DURABLE_GOALS: readonly DurableGoal[] = [
  { row: "sqlite-receive", says: "receiving only, 64 connections, of verify only", values: warm, least: 0.85 },
  { row: "sqlite-receive-256", says: "receiving only, 256 connections, of verify only", values: warm, least: 0.95 },
  { row: "sqlite-handler", says: "with a handler, 64 connections, of verify only", values: warm, least: 0.7 },
  { row: "sqlite-handler", says: "with a handler, 64 connections, cold", values: cold, least: 0.55 },
  { row: "sqlite-handler-256", says: "with a handler, 256 connections, of verify only", values: warm, least: 0.8 },
  { row: "sqlite-handler-256", says: "with a handler, 256 connections, cold", values: cold, least: 0.55 },
  { row: "sqlite-retention", says: "with a handler and retention, of verify only", values: warm, least: 0.6 },
  { row: "sqlite-handler", says: "CPU time with a handler, of verify only", values: warmCpu, most: 1.4 },
  { row: "sqlite-retention", says: "CPU time with a handler and retention", values: warmCpu, most: 1.6 },
  {
    row: "sqlite-slow-disk",
    says: "fsync 10 ms slower, 256 connections, requests/s",
    values: ({ warm: { own } }) => own.map(({ perSecond }) => perSecond),
    least: 6_000,
  },
  {
    row: "sqlite-slow-disk",
    says: "fsync 10 ms slower, p99 ms",
    values: ({ warm: { own } }) => own.map(({ p99Ms }) => p99Ms),
    most: 100,
  },
  {
    row: "sqlite-handler",
    says: "offered half of its capacity, p99 ms",
    values: ({ half: { own } }) => own.map(({ p99Ms }) => p99Ms),
    most: 10,
  },
  {
    row: "sqlite-handler",
    says: "deliveries behind their handlers, at most",
    values: ({ warm: { own } }) => [Math.max(...own.map(({ backlog = Number.NaN }) => backlog))],
    most: 1_000,
  },
];

interface PeerGoal extends Goal {
  readonly row: string;
  readonly peer: string;
}

/** Of requests/s, each as a share of verify only beside it: the machine changes between two rows. */
const PEER_GOALS: readonly PeerGoal[] = [
  { row: "peers-sqlite", peer: "peers-bullmq", says: "SQLite with a handler, of BullMQ", least: 2 },
  { row: "peers-postgres", peer: "peers-bullmq", says: "PostgreSQL with a handler, of BullMQ", least: 1.2 },
  { row: "peers-postgres", peer: "peers-pg-boss", says: "PostgreSQL with a handler, of pg-boss", least: 5 },
];

/** Results of the goals whose rows were measured. */
export function durableGoalResultsOf(rows: ReadonlyMap<string, RowMeasured>): readonly GoalResult[] {
  const own = DURABLE_GOALS.flatMap(({ row, values, ...goal }) => {
    const measured = rows.get(row);
    return measured === undefined ? [] : goalResultsOf(goal, values(measured));
  });
  const beside = PEER_GOALS.flatMap(({ row, peer, ...goal }) => {
    const [ours, theirs] = [rows.get(row), rows.get(peer)];
    if (ours === undefined || theirs === undefined) return [];
    return goalResultsOf(goal, [toFigure(warm(ours)).median / toFigure(warm(theirs)).median]);
  });
  return [...own, ...beside];
}
