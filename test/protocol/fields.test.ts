import fc from "fast-check";
import { expect, test } from "vitest";
import { idField } from "../../src/protocol/read-fields.ts";
import { toId } from "../../src/protocol/id.ts";

test("a safe integer and its decimal text are the same id", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (id) => {
      expect(toId(id)).toBe(id + 0);
      expect(toId(String(id))).toBe(id + 0);
    }),
  );
});

test("an id is a safe integer or nothing, whatever comes", () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      const id = toId(value);
      expect(id === undefined || (Number.isSafeInteger(id) && !Object.is(id, -0))).toBe(true);
      expect(idField.safeParse(value).data).toBe(id);
    }),
  );
});

test("no text but digits with a sign is an id, so that no two of them become one", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      if (toId(text) !== undefined) expect(text).toMatch(/^-?\d{1,16}$/);
    }),
  );
});

test.each([
  [0, 0],
  ["0", 0],
  [-0, 0],
  ["-0", 0],
  ["87665448354", 87_665_448_354],
  [-5, -5],
  ["007", 7],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
])("%j is the id %d", (value, id) => {
  expect(toId(value)).toBe(id);
});

test("a bigint is no id, because JSON has none", () => {
  expect(toId(5n)).toBeUndefined();
});

test.each([
  2 ** 53,
  "9007199254740992",
  "9007199254740993",
  "99999999999999999999",
  1.5,
  "1.0",
  "1e3",
  "0x10",
  "+5",
  " 5",
  "5 ",
  "",
  "-",
  "٥",
  Number.NaN,
  Infinity,
  true,
  null,
  undefined,
  [5],
  ["5"],
  {},
])("%j is no id", (value) => {
  expect(toId(value)).toBeUndefined();
});
