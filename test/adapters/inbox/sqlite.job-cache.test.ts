import { expect, test } from "vitest";
import { createJobCache } from "../../../adapters/inbox/sqlite/worker/job-cache.ts";
import { fromLoaded, type Row } from "../../../adapters/inbox/sqlite/worker/row-encoding.ts";

/** So far apart that each stands in a table of its own. */
const FAR = 100_000;

function rowOf(id: number): Row {
  return fromLoaded([id, 1, 0, "default", null, null, 1, null, null]);
}

function filled(...ids: readonly number[]) {
  const rows = createJobCache();
  for (const id of ids) rows.add(rowOf(id));
  const between = (after: number, to: number): number[] => [...rows.between(after, to)].map(({ id }) => id);
  const remove = (id: number): void => {
    const row = rows.get(id);
    if (row !== undefined) rows.delete(row);
  };
  return { rows, between, remove };
}

test("rows are found by their ids, however far apart these are, until they go", () => {
  const { rows, remove } = filled(1, 2, FAR, 3 * FAR);
  expect([1, 2, 3, FAR, 2 * FAR, 3 * FAR].map((id) => rows.get(id)?.id)).toEqual([
    1,
    2,
    undefined,
    FAR,
    undefined,
    3 * FAR,
  ]);
  expect(rows.size).toBe(4);
  remove(FAR);
  remove(1);
  expect([1, 2, FAR].map((id) => rows.get(id)?.id)).toEqual([undefined, 2, undefined]);
  expect(rows.size).toBe(2);
});

test("a range of ids is without the one before it, and with its last", () => {
  const { between, remove } = filled(1, 2, 3, 4_095, 4_096, 4_097, FAR, FAR + 1);
  expect(between(1, 3)).toEqual([2, 3]);
  expect(between(2, 4_096)).toEqual([3, 4_095, 4_096]);
  expect(between(4_096, FAR)).toEqual([4_097, FAR]);
  expect(between(0, Infinity)).toEqual([1, 2, 3, 4_095, 4_096, 4_097, FAR, FAR + 1]);
  expect(between(FAR + 1, Infinity)).toEqual([]);
  remove(4_097);
  expect(between(4_095, FAR)).toEqual([4_096, FAR]);
});
