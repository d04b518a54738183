import { openSync, readFileSync, writeSync } from "node:fs";

/** A journal of handler calls: each line is written before the next step begins, so it survives a crash of the process. */
export type JournalLine = Started | Ended | Beat;

/** A handler was called. */
export interface Started {
  readonly at: "start";
  /** The process: a restarted one has another. */
  readonly instance: string;
  /** Number of the call in this instance. */
  readonly call: number;
  /** `ctx.jobId`: the newest of the merged jobs. */
  readonly job: number;
  readonly merged: number;
  readonly attempt: number;
  readonly replay: boolean;
  /** Names in the event: of all merged changes if `each`, else of the newest. */
  readonly names: readonly string[];
  /** The event lists every merged change (`.changes`). */
  readonly each: boolean;
}

/** A handler returned or threw. */
interface Ended {
  readonly at: "end";
  readonly instance: string;
  readonly call: number;
  readonly ok: boolean;
  /** SHA-256 of the bytes of `ctx.delivery()`. */
  readonly sha: string | undefined;
}

/** A heartbeat. */
interface Beat {
  readonly at: "beat";
  readonly instance: string;
}

/** @returns a function that appends one line atomically; several processes may share the file */
export function openJournal(file: string): (line: JournalLine) => void {
  const fd = openSync(file, "a");
  return (line) => void writeSync(fd, `${JSON.stringify(line)}\n`);
}

export function readJournal(file: string): readonly JournalLine[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as JournalLine);
}
