import { openSync, readFileSync, writeSync } from "node:fs";

/** What the processes of a row did, in one order. Times: milliseconds since the epoch, of the one machine that all run on. */
export type Line = Claimed | Started | Ended | Settled | Lost;

interface Of {
  /** The process: a restarted one has another. */
  readonly instance: string;
  readonly at: number;
}

/** The inbox gave a claim. */
export interface Claimed extends Of {
  readonly what: "claim";
  /** Its number in this instance. */
  readonly claim: number;
  readonly consumer: string;
  readonly lane: string | undefined;
  readonly jobs: readonly number[];
  /** Of the entries, in the order of `jobs`. */
  readonly names: readonly string[];
}

/** A handler was called. */
interface Started extends Of {
  readonly what: "start";
  readonly call: number;
  /** The newest of the jobs that merged. */
  readonly job: number;
  readonly merged: number;
}

/** It returned, or threw. */
interface Ended extends Of {
  readonly what: "end";
  readonly call: number;
  readonly ok: boolean;
}

/** The inbox answered how a claim ended: it held or was lost. */
interface Settled extends Of {
  readonly what: "settle";
  readonly claim: number;
  readonly to: readonly string[];
  readonly held: boolean;
}

/** The inbox took a claim back. */
interface Lost extends Of {
  readonly what: "lost";
  readonly claim: number;
}

type WithoutAt<L> = L extends Line ? Omit<L, "at"> : never;

/** @returns a function that appends one line atomically, before it returns: several processes share the file */
export function openJournal(file: string): (line: WithoutAt<Line>) => void {
  const fd = openSync(file, "a");
  return (line) => void writeSync(fd, `${JSON.stringify({ at: Date.now(), ...line })}\n`);
}

export function readJournal(file: string): readonly Line[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Line);
}
