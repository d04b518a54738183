import { describe, expect, it } from "vitest";
import { growthIn, HEADS, toCells, type Point } from "./growth.ts";

const MIB = 1024 * 1024;

describe("growth over the last half of a soak", () => {
  it("is none where values rise only before it, or vary", () => {
    const points = [10, 60, 90, 100, 104, 98, 103, 99].map((mib) => point({ fileBytes: mib * MIB }));
    expect(growthIn(points)).toEqual([]);
  });

  it("is named for each value that climbs: the file, and the heap of either thread", () => {
    for (const name of ["fileBytes", "heapBytes", "threadHeapBytes"] as const) {
      const points = Array.from({ length: 8 }, (_, index) => point({ [name]: (10 + index * 8) * MIB }));
      expect(growthIn(points)).toEqual([expect.stringContaining(`${name} grew by 24.0 MiB`)]);
    }
  });

  it("has a cell for each head", () => {
    expect(toCells(point({}))).toHaveLength(HEADS.length);
  });
});

function point(values: Partial<Point>): Point {
  const bytes = { fileBytes: MIB, walBytes: MIB, heapBytes: MIB, threadHeapBytes: MIB, rssBytes: MIB };
  return { deliveries: 1, waiting: 0, ...bytes, ...values };
}
