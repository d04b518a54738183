import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createFifo } from "../../src/inbox/collections/fifo.ts";

describe("first in, first out:", () => {
  test("what was pushed comes out in order, then nothing", () => {
    const fifo = createFifo<string>();
    expect([fifo.size, fifo.peek(), fifo.shift()]).toEqual([0, undefined, undefined]);
    for (const item of ["a", "b", "c"]) fifo.push(item);
    expect([fifo.size, fifo.peek(), ...fifo]).toEqual([3, "a", "a", "b", "c"]);
    expect([fifo.shift(), fifo.shift(), fifo.shift(), fifo.shift()]).toEqual(["a", "b", "c", undefined]);
    expect(fifo.size).toBe(0);
  });

  test("behaves as an array does, whatever is done to it", () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ push: fc.integer({ min: 1, max: 900 }) }) },
      { weight: 5, arbitrary: fc.record({ shift: fc.integer({ min: 1, max: 900 }) }) },
      { weight: 1, arbitrary: fc.record({ keep: fc.integer({ min: 1, max: 5 }) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const fifo = createFifo<number>();
        let plain: number[] = [];
        let pushed = 0;
        for (const one of steps) {
          if ("push" in one) {
            for (let times = 0; times < one.push; times += 1) plain.push((fifo.push(pushed), pushed++));
          } else if ("shift" in one) {
            for (let times = 0; times < one.shift; times += 1) expect(fifo.shift()).toBe(plain.shift());
          } else {
            fifo.filter((item) => item % one.keep !== 0);
            plain = plain.filter((item) => item % one.keep !== 0);
          }
          expect([fifo.size, fifo.peek()]).toEqual([plain.length, plain[0]]);
        }
        expect([...fifo]).toEqual(plain);
      }),
    );
  });

  test("lets go of what was taken", () => {
    const fifo = createFifo<object>();
    for (let index = 0; index < 5_000; index += 1) fifo.push({});
    for (let index = 0; index < 4_000; index += 1) fifo.shift();
    expect([...fifo]).toHaveLength(1_000);
  });

  test("costs the same an item however long it grows: 300,000 in and out", () => {
    const fifo = createFifo<number>();
    for (let index = 0; index < 300_000; index += 1) fifo.push(index);
    let sum = 0;
    for (let item = fifo.shift(); item !== undefined; item = fifo.shift()) sum += item;
    expect(sum).toBe((300_000 * 299_999) / 2);
  });
});
