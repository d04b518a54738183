import type { StorageError } from "../../../../src/adapter.ts";
import type { ReadDeliveries, StepLimit } from "./encode-step.ts";
import type { Row } from "./lanes.ts";
import type { Settling } from "./refused-settles.ts";

export interface Marked extends ReadDeliveries {
  readonly gone: ReadonlySet<number>;
}

export interface Marking {
  readonly rows: readonly Row[];
  readonly wanted: readonly Row[];
  readonly limit: StepLimit;
  resolve(marked: Marked): void;
  reject(error: StorageError): void;
}

/** What goes in one step. */
export interface Batch {
  readonly settles: readonly Settling[];
  readonly marks: readonly Marking[];
  readonly waiting: readonly (() => void)[];
}

export const NOTHING: Batch = { settles: [], marks: [], waiting: [] };

export const ofSettles = (settles: readonly Settling[]): Batch => ({ ...NOTHING, settles });
export const ofMark = (one: Marking): Batch => ({ ...NOTHING, marks: [one] });

/** What the server refused together: of hundreds one is found in a few steps. One by itself where there is one. */
export function halvesOf({ settles, marks }: Pick<Batch, "settles" | "marks">): readonly Batch[] {
  const count = settles.length + marks.length;
  const half = Math.ceil(count / 2);
  const ofMarks = Math.max(half - settles.length, 0);
  const first = { ...NOTHING, settles: settles.slice(0, half), marks: marks.slice(0, ofMarks) };
  const second = { ...NOTHING, settles: settles.slice(half), marks: marks.slice(ofMarks) };
  return [first, second].slice(0, count);
}
