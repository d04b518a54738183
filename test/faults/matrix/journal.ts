import { openSync, readFileSync, writeSync } from "node:fs";

/** What a receiving process wrote down: each line is in the file before its next step begins, and outlives the process. */
export type JournalLine = Started | Ended | Beat;

/** A handler was called. */
export interface Started {
  readonly at: "start";
  /** Whose: a process that was started anew has another. */
  readonly instance: string;
  /** Among those of this instance. */
  readonly call: number;
  /** As `ctx` says it: the newest of the merged ones. */
  readonly job: number;
  readonly merged: number;
  readonly attempt: number;
  readonly replay: boolean;
  /** What the event says of itself: all that were merged, where the handler is told of each. */
  readonly names: readonly string[];
  /** The handler was told of each. */
  readonly each: boolean;
}

/** It returned or threw. */
interface Ended {
  readonly at: "end";
  readonly instance: string;
  readonly call: number;
  readonly ok: boolean;
  /** Of the bytes that `ctx.delivery()` gave. */
  readonly sha: string | undefined;
}

/** The process lives and does nothing worth a line. */
interface Beat {
  readonly at: "beat";
  readonly instance: string;
}

/** @returns what appends a line, whole or not at all, behind those of all other processes */
export function openJournal(file: string): (line: JournalLine) => void {
  const fd = openSync(file, "a");
  return (line) => void writeSync(fd, `${JSON.stringify(line)}\n`);
}

export function readJournal(file: string): readonly JournalLine[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as JournalLine);
}
