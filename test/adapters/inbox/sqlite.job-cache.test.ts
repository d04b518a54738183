import { describe, expect, test } from "vitest";
import { createJobCache, HELD_BYTES } from "../../../adapters/inbox/sqlite/work/job-cache.ts";
import { fromLoaded, type Row } from "../../../adapters/inbox/sqlite/work/row-encoding.ts";
import { makeDelivery } from "../../support/make-delivery.ts";

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

test("one that comes late stands in its order, though its table was without rows", () => {
  const { rows, between, remove } = filled(1, FAR);
  remove(1);
  rows.add(rowOf(2));
  expect(between(0, Infinity)).toEqual([2, FAR]);
  remove(1);
  expect(rows.size).toBe(2);
});

describe("deliveries that are held", () => {
  const MIB = 1024 * 1024;

  /** A delivery, held for some jobs. */
  function held(rows: ReturnType<typeof createJobCache>, bytes: number, ids: readonly number[], events = 1) {
    const hold = rows.hold(makeDelivery("x".repeat(bytes)), events);
    if (hold === undefined) return undefined;
    const made = ids.map((id): Row => ({ ...rowOf(id), held: { event: undefined as never, hold } }));
    for (const row of made) rows.add(row);
    return made;
  }

  /** The longest body that can still be held. */
  function room(rows: ReturnType<typeof createJobCache>): number {
    let [least, most] = [0, HELD_BYTES];
    while (most - least > 1) {
      const half = Math.floor((least + most) / 2);
      if (rows.hold({ ...makeDelivery(), body: { byteLength: half } as Uint8Array }, 0) === undefined) most = half;
      else least = half;
    }
    return least;
  }

  test("count twice their bodies, and something for each event", () => {
    const rows = createJobCache();
    const empty = room(rows);
    expect(empty).toBe((HELD_BYTES - 1_000) / 2);
    expect(rows.hold(makeDelivery(), 1_000_000)).toBeUndefined();
    expect(held(rows, MIB, [1], 1_000)?.[0]?.held?.hold.bytes).toBe(1_000 + 2 * MIB + 300_000);
    expect(room(rows)).toBe(empty - MIB - 500 - 150_000);
  });

  test("count once, however many jobs need them, until the last one is gone or needs them no more", () => {
    const rows = createJobCache();
    const empty = room(rows);
    const [one, two, three] = held(rows, MIB, [1, 2, 3]) ?? [];
    const full = room(rows);
    expect(full).toBeLessThan(empty);
    rows.letGo(one!);
    rows.letGo(one!);
    expect(one!.held).toBeUndefined();
    rows.delete(two!);
    expect(room(rows)).toBe(full);
    rows.delete(three!);
    expect([room(rows), rows.size]).toEqual([empty, 1]);
  });

  test("are none where the room is full", () => {
    const rows = createJobCache();
    let count = 0;
    while (held(rows, MIB, [count + 1]) !== undefined) count += 1;
    expect(count).toBe(15);
  });
});
