import type { StorageError } from "../../../../src/adapter.ts";
import { isRefusal, isUnreadable } from "../connection/to-storage-error.ts";
import type { Life } from "./create-life.ts";
import type { Row } from "./lanes.ts";
import { STEP_BYTES } from "./read-limit.ts";

type Refused = readonly [Row, StorageError];

/** Of rows that were refused together, those that are refused alone: halves are tried, and halves of those that are refused. */
export async function refusedOf(
  mine: Pick<Life, "steps">,
  rows: readonly Row[],
  refusal: StorageError,
): Promise<readonly Refused[]> {
  const [row] = rows;
  if (row !== undefined && rows.length === 1) return [[row, refusal]];
  const half = Math.ceil(rows.length / 2);
  const found: Refused[] = [];
  for (const part of [rows.slice(0, half), rows.slice(half)]) {
    let left = part;
    try {
      while (left.length > 0) {
        const { unread } = await mine.steps.mark(left, left, STEP_BYTES);
        left = left.filter(({ delivery }) => unread.has(delivery));
      }
    } catch (error) {
      if (!isRefusal(error) && !isUnreadable(error)) throw error;
      found.push(...(await refusedOf(mine, left, error as StorageError)));
    }
  }
  return found;
}
