import { describe, expect, test } from "vitest";
import { createCompactingMap } from "../../src/inbox/collections/compacting-map.ts";

describe("a map for entries that come and go", () => {
  test("holds what a Map would hold, in the same order, however many came and went", () => {
    const map = createCompactingMap<number, string>();
    const model = new Map<number, string>();
    for (let key = 0; key < 10_000; key += 1) {
      map.set(key, `${key}`);
      model.set(key, `${key}`);
      // Some stay, some are set anew, most leave.
      if (key % 100 === 0) continue;
      if (key % 7 === 0) for (const one of [map, model]) one.set(key - 1, "again");
      expect(map.delete(key - 3)).toBe(model.delete(key - 3));
    }
    expect([...map.entries()]).toEqual([...model]);
    expect([...map.values()]).toEqual([...model.values()]);
    expect(map.size).toBe(model.size);
    for (const key of [5, 700, 9_990, 9_999]) expect(map.get(key)).toBe(model.get(key));
  });

  test("says whether there was something to delete", () => {
    const map = createCompactingMap<string, number>();
    map.set("a", 1);
    expect([map.delete("a"), map.delete("a"), map.size]).toEqual([true, false, 0]);
  });
});
