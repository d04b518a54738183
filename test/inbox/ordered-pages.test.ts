import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createOrderedPages } from "../../src/inbox/collections/ordered-pages.ts";

describe("rows in pages", () => {
  test("are what a sorted list of them would be, whatever came and went", () => {
    const step = fc.oneof(
      fc.record({ skip: fc.integer({ min: 1, max: 900 }) }),
      fc.record({ remove: fc.nat(5_000) }),
      fc.record({ again: fc.nat(9) }),
      fc.record({ after: fc.nat(5_000), to: fc.oneof(fc.nat(10_000), fc.constant(Infinity)) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const rows = createOrderedPages<{ readonly id: number }>();
        let plain: { readonly id: number }[] = [];
        let removed: number[] = [];
        let last = 0;
        for (const one of steps) {
          if ("skip" in one) {
            last += one.skip;
            const row = { id: last };
            rows.add(row);
            plain.push(row);
          } else if ("remove" in one) {
            const id = plain[one.remove % Math.max(plain.length, 1)]?.id ?? one.remove;
            expect(rows.delete(id)).toBe(plain.some((row) => row.id === id));
            if (plain.some((row) => row.id === id)) removed.push(id);
            plain = plain.filter((row) => row.id !== id);
          } else if ("again" in one) {
            const id = removed[one.again % Math.max(removed.length, 1)];
            if (id === undefined) continue;
            removed = removed.filter((other) => other !== id);
            rows.add({ id });
            plain = [...plain, { id }].toSorted((a, b) => a.id - b.id);
          } else {
            const { after, to } = one;
            expect([...rows.between(after, to)]).toEqual(plain.filter(({ id }) => id > after && id <= to));
            expect(rows.get(one.after)).toEqual(plain.find(({ id }) => id === one.after));
          }
          expect(rows.size).toBe(plain.length);
        }
        expect([...rows.between(0, Infinity)]).toEqual(plain);
      }),
    );
  });

  test("of a range are without the one before it, and with its last", () => {
    const rows = createOrderedPages<{ readonly id: number }>();
    for (let id = 1; id <= 3_000; id += 1) rows.add({ id });
    expect([...rows.between(1_023, 1_025)]).toEqual([{ id: 1_024 }, { id: 1_025 }]);
    expect([...rows.between(2_999, Infinity)]).toEqual([{ id: 3_000 }]);
  });

  test("may leave while they are looked through", () => {
    const rows = createOrderedPages<{ readonly id: number }>();
    for (let id = 1; id <= 3_000; id += 1) rows.add({ id });
    const seen: number[] = [];
    for (const { id } of rows.between(1_000, Infinity)) {
      seen.push(id);
      rows.delete(id);
    }
    expect(seen).toHaveLength(2_000);
    expect(rows.size).toBe(1_000);
  });
});
