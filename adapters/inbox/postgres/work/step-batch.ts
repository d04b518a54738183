import { StorageError } from "../../../../src/adapter.ts";
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

/** Jobs that end in one step: it is to be answered well within the lease, though a thousand were merged into one call and failed with a long text. */
const STEP_JOBS = 5_000;

/** Takes what goes in one step out of what is to be settled: the first, and what there is room for beside it. */
export function takeFitting(settling: Settling[]): readonly Settling[] {
  let room = STEP_JOBS;
  const fits = ({ left }: Settling, place: number): boolean => {
    if (place > 0 && left.length > room) return false;
    room -= left.length;
    return true;
  };
  const taken = new Set(settling.filter(fits));
  settling.splice(0, Infinity, ...settling.filter((one) => !taken.has(one)));
  return [...taken];
}

/** Of a worker that is over. */
export function refuse(settles: readonly Settling[], marks: readonly Marking[]): void {
  const error = new StorageError("epoch-stale", "Another process has taken over the jobs of this one.");
  for (const one of [...settles, ...marks]) one.reject(error);
}

/** What the server refused together: of hundreds one is found in a few steps. One by itself where there is one. */
export function halvesOf({ settles, marks }: Pick<Batch, "settles" | "marks">): readonly Batch[] {
  if (settles.length > 0 && marks.length > 0) return [{ ...NOTHING, marks }, ofSettles(settles)];
  const half = Math.ceil((settles.length + marks.length) / 2);
  return [
    { ...NOTHING, settles: settles.slice(0, half), marks: marks.slice(0, half) },
    { ...NOTHING, settles: settles.slice(half), marks: marks.slice(half) },
  ].filter((part) => part.settles.length + part.marks.length > 0);
}

/** What the server refused together, in parts that are still to be tried. */
export interface Parts {
  isEmpty(): boolean;
  add(parts: readonly Batch[]): void;
  /** By turns, so that neither the heart nor anything else waits for what is refused. Undefined: it is the turn of all else. */
  next(hasOther: boolean): Batch | undefined;
  removeAll(): readonly Batch[];
}

export function createParts(): Parts {
  /** The last ones come first: what is good in them waits for a few steps, not for all that was refused before. */
  const several: Batch[] = [];
  /** Each with one end. Most of them were refused alone, and will be. */
  const singles: Batch[] = [];
  const isSingle = ({ settles, marks }: Batch): boolean => settles.length === 1 && marks.length === 0;
  let turn = 0;
  return {
    isEmpty: () => several.length + singles.length === 0,
    add(parts) {
      several.unshift(...parts.filter((part) => !isSingle(part)));
      singles.push(...parts.filter(isSingle));
    },
    next(hasOther) {
      for (const queue of [several, singles, undefined, several, singles].slice(turn, turn + 3)) {
        turn = (turn + 1) % 3;
        const part = queue?.shift();
        if (part !== undefined || (queue === undefined && hasOther)) return part;
      }
      return undefined;
    },
    removeAll: () => [...several.splice(0), ...singles.splice(0)],
  };
}
