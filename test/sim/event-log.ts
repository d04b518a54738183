import { readFileSync, writeSync } from "node:fs";
import type { Arrival } from "./arrivals.ts";

/** What processes that are killed have said, each line before its next step: a line is whole, or it is not there. */
export type Line =
  | { readonly is: "life"; readonly number: number }
  | { readonly is: "sent"; readonly arrival: Arrival }
  | { readonly is: "acknowledged"; readonly body: string; readonly source: string | undefined }
  /** `job` is the newest of `merged`; `attempt` is the oldest's. */
  | {
      readonly is: "call";
      readonly call: number;
      readonly job: string;
      readonly merged: number;
      readonly attempt: number;
    }
  /** `later`: it asked for more time, which is no attempt. */
  | { readonly is: "end"; readonly call: number; readonly ok: boolean; readonly later: boolean }
  | { readonly is: "dead"; readonly job: string };

/** A line with the wall-clock time of its process. */
export type Dated = Line & { readonly at: number };

/** Writes to a file that outlives its writer. */
export function createChronicle(descriptor: number, now: () => number): (line: Line) => void {
  return (line) => void writeSync(descriptor, `${JSON.stringify({ ...line, at: now() })}\n`);
}

/** The last line may have been cut off by a death. */
export function readChronicle(file: string): Dated[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Dated);
}
