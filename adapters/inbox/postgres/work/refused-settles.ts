import { FRESH, type Progress, type StorageError } from "../../../../src/adapter.ts";
import type { ClaimRecord } from "../../../../src/inbox/claim-book.ts";
import { toText } from "../store/encode-batch.ts";
import { LOOK_AGAIN_MS } from "./intervals.ts";
import type { Row } from "./lanes.ts";

/** What is to become of some jobs of a claim. */
export type Ending = Pick<ClaimRecord<Row>, "rows" | "progress" | "window">;

/** A claim that ends, or a part of it. */
export interface Settling {
  /** Of each row that is not done. */
  readonly progress: Map<Row, Progress>;
  window: Ending["window"];
  /** Rows of which it is not known that it holds. */
  left: readonly Row[];
  /** So often it was refused, alone. */
  refusals: number;
  /** A try before was refused alone. */
  readonly wasRefused: boolean;
  /** It was sent, and no answer came: a row that is gone may be its doing. */
  isUnsure: boolean;
  readonly passed: Map<number, number>;
  resolve(holds: boolean): void;
  reject(error: StorageError): void;
}

/** Before it was tried. */
export function toSettling({ rows, progress: given = [], window }: Ending) {
  const progress = new Map<Row, Progress>();
  for (const [place, row] of rows.entries())
    if (given[place] !== undefined && given[place].state !== "done") progress.set(row, given[place]);
  return { progress, window, left: rows, refusals: 0, passed: new Map<number, number>() };
}

/** Whether it needs the tables of dead letters and of unhandled jobs, beside that of the jobs: the server locks them for a retry as well. */
export function needsMore({ progress }: Settling): boolean {
  return progress.size > 0;
}

/** What is to be tried apart because of a lock: where it is in the way of several, one try tells. */
export function apart(settles: readonly Settling[]): readonly (readonly Settling[])[] {
  const [more, rest] = [settles.filter(needsMore), settles.filter((one) => !needsMore(one))];
  if (more.length === 0) return settles.map((one) => [one]);
  return rest.length === 0 ? [more] : [rest, more];
}

/** What needs tables on which others held a lock a moment ago: it is refused at once, with what the server said. */
export function createLockedEnds() {
  let lookAgainAt = 0;
  let said: StorageError;
  return {
    without(settles: readonly Settling[]): readonly Settling[] {
      if (performance.now() >= lookAgainAt) return settles;
      for (const one of settles) if (needsMore(one)) one.reject(said);
      return settles.filter((one) => !needsMore(one));
    },
    /** @returns nothing is to be tried instead: who settles tries again */
    refuse(settles: readonly Settling[], error: StorageError): readonly [] {
      lookAgainAt = performance.now() + LOOK_AGAIN_MS;
      said = error;
      for (const one of settles) one.reject(error);
      return [];
    },
  };
}

/** Of a job whose end the server refuses, one after the other. */
const ENDINGS = ["dead", "removed"] as const;

export interface Refusal {
  readonly error: StorageError;
  readonly now: () => number;
  /** The server would not write how a job ended: it ends so. */
  readonly refused: (row: Row, to: "dead" | "removed", error: StorageError) => void;
}

/** What is to be tried instead of what the server refused alone. Undefined: there is nothing else. */
export function endOtherwise(one: Settling, { error, now, refused }: Refusal): readonly Settling[] | undefined {
  const [row, ...rest] = one.left;
  const to = ENDINGS[one.refusals];
  if (row === undefined || to === undefined) return undefined;
  if (rest.length > 0) return partsOf(one);
  const before = one.progress.get(row);
  one.refusals += 1;
  one.window = undefined;
  if (before === undefined) return [one];
  if (to === "dead") one.progress.set(row, toDead(before, error, now()));
  else one.progress.delete(row);
  refused(row, to, error);
  return [one];
}

/** Each row by itself; it ends when all have. */
function partsOf(one: Settling): readonly Settling[] {
  let [open, allHold] = [one.left.length, true];
  const resolve = (holds: boolean): void => {
    allHold &&= holds;
    open -= 1;
    if (open === 0) one.resolve(allHold);
  };
  return one.left.map((row, place) => ({
    ...one,
    left: [row],
    window: place === 0 ? one.window : undefined,
    resolve,
  }));
}

function toDead(before: Progress, { name, message }: StorageError, at: number): Progress {
  const attempts = Number.isInteger(before.attempts) ? before.attempts : 1;
  return { ...FRESH, attempts, state: "dead", error: { name, message: toText(message), at }, settledAt: at };
}
