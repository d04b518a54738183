import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createDice } from "../../sim/random.ts";
import { report } from "../matrix/rounds.ts";
import { checkFile, type Expectation } from "./check-file.ts";
import { cutPower, replayAll, type Place } from "./cut-power.ts";
import { openTraceWriter, readTrace, type TraceRecord, type TraceWriter } from "./trace.ts";
import { startTraced, type TracedOptions, type TracedReceiver } from "./traced-receiver.ts";

/** Records a trace. */
export interface TraceSession {
  start(): Promise<TracedReceiver>;
  readonly writer: TraceWriter;
}

/**
 * Traces what receivers do to one inbox, from its creation to their end. Proves that the trace is complete: replayed, it gives the real
 * files byte for byte.
 */
export async function recordTrace(
  setting: Omit<TracedOptions, "file" | "trace">,
  scenario: (session: TraceSession) => Promise<void>,
): Promise<TraceRecord[]> {
  const folder = newFolder();
  const [inbox, trace] = [join(folder, "inbox"), join(folder, "trace")];
  mkdirSync(inbox);
  writeFileSync(trace, "");
  const writer = openTraceWriter(trace);
  onTestFinished(writer.close);
  await scenario({ writer, start: () => startTraced({ ...setting, file: join(inbox, "inbox.db"), trace }) });
  const records = readTrace(trace);
  const replayed = replayAll(records);
  const real = readdirSync(inbox).filter((name) => !name.endsWith("-shm"));
  expect([...replayed.keys()].map((path) => basename(path)).toSorted()).toEqual(real.toSorted());
  for (const [path, bytes] of replayed) expect(bytes.equals(readFileSync(path)), `${path} is as replayed`).toBe(true);
  return records;
}

export interface PowerCutOptions extends Expectation {
  readonly title: string;
  readonly rounds: number;
  readonly focus?: ((index: number) => boolean) | undefined;
  /** Places where the power must be cut: a trace without one proves nothing about it. */
  readonly places: readonly Place[];
  /** @default from the clock; a failure prints it */
  readonly seed?: number;
}

/** Cuts the power in a trace so many times, checks the files each time, and prints a report. */
export async function runPowerCuts(
  records: readonly TraceRecord[],
  { title, rounds, focus, places: wanted, seed = Date.now() % 1_000_000, ...expected }: PowerCutOptions,
): Promise<string[]> {
  const folder = newFolder();
  const wrong: string[] = [];
  const places = new Map<Place, number>();
  const largest = { acknowledged: 0, unsynced: 0 };
  for (const { at, place, seen, unsynced, images } of cutPower(records, { rounds, dice: createDice(seed), focus })) {
    places.set(place, (places.get(place) ?? 0) + 1);
    largest.acknowledged = Math.max(largest.acknowledged, acknowledgedIn(seen));
    largest.unsynced = Math.max(largest.unsynced, unsynced);
    const checks = images.map(async ([kind, files]) => {
      const found = await checkFile(writeFiles(join(folder, `${at}-${kind}`), files), seen, expected);
      wrong.push(...found.map((what) => `${what} (seed ${seed}, cut ${at} ${place}, ${kind})`));
    });
    await Promise.all(checks);
  }
  expect([...places.keys()]).toEqual(expect.arrayContaining([...wanted]));
  const of = (kind: string): number => wrong.filter((what) => what.startsWith(kind)).length;
  report(`row 2, power cut ${title}`, {
    cuts: [...places.values()].reduce((sum, count) => sum + count, 0),
    ...Object.fromEntries(places),
    acknowledged: `${largest.acknowledged} of ${acknowledgedIn(records)}`,
    "unsynced at most": largest.unsynced,
    lost: of("lost"),
    damaged: of("damaged"),
    "wrong in all": wrong.length,
    seed,
  });
  return wrong;
}

/** The indexes from one marker to some records after another. */
export function betweenMarkers(
  records: readonly TraceRecord[],
  [first, last]: readonly [first: string, last: string],
): (index: number) => boolean {
  const indexOf = (marker: string): number => records.findIndex((one) => one.type === "marker" && one.what === marker);
  const [from, to] = [indexOf(first), indexOf(last) + BEHIND];
  return (index) => index >= from && index < to;
}

const BEHIND = 100;

function acknowledgedIn(records: readonly TraceRecord[]): number {
  return records.filter((one) => one.type === "marker" && one.what === "acknowledged").length;
}

function writeFiles(folder: string, files: ReadonlyMap<string, Buffer>): string {
  mkdirSync(folder);
  for (const [path, bytes] of files) writeFileSync(join(folder, basename(path)), bytes);
  return join(folder, "inbox.db");
}

function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "hookline-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}
