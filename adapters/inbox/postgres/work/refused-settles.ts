import { FRESH, settled, type Progress, type StorageError } from "../../../../src/adapter.ts";
import { toText } from "../store/encode-batch.ts";
import type { Ending } from "./encode-step.ts";
import type { Row } from "./lanes.ts";

/** A claim that ends, or a part of it. */
export interface Settling {
  readonly progress: Map<Row, Progress>;
  window: Ending["window"];
  /** Rows of which it is not known that it holds. */
  left: readonly Row[];
  /** So often it was refused, alone. */
  refusals: number;
  /** It was sent, and no answer came: a row that is gone may be its doing. */
  isUnsure: boolean;
  readonly passed: Map<number, number>;
  resolve(holds: boolean): void;
  reject(error: StorageError): void;
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
  const before = one.progress.get(row) as Progress;
  one.refusals += 1;
  one.window = undefined;
  if (before.state === "done") return [one];
  one.progress.set(row, to === "dead" ? toDead(before, error, now()) : settled(before, { to: "done" }, now()));
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
