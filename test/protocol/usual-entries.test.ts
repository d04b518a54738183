import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { readChange, readUsualChange } from "../../src/protocol/change.ts";
import { parseDocument } from "../../src/protocol/envelope.ts";
import { idField } from "../../src/protocol/read-fields.ts";

const value = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom("m-1", "", "updated", "1", "-0", "9007199254740993") },
  fc.constantFrom<unknown>(1, -0, 0.5, 2 ** 53, null, true, [], ["x"], {}),
  fc.jsonValue({ maxDepth: 1 }),
);

/** Objects with some of these fields, in any order. */
const objectOf = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> =>
  fc
    .uniqueArray(fc.constantFrom(...Object.keys(fields)), { minLength: Object.keys(fields).length - 2 })
    .chain((names) => fc.tuple(...names.map((name) => (fields[name] ?? value).map((one) => [name, one] as const))))
    // Through the text, as on the wire: "__proto__" is a field like any other.
    .map(
      (pairs) => JSON.parse(`{${pairs.map(([name, one]) => `"${name}":${JSON.stringify(one)}`).join()}}`) as unknown,
    );

const withProto = { ["__proto__"]: value };
const attributes = fc.oneof(
  objectOf({ threadId: value, labels: value }),
  objectOf({ threadId: value, ...withProto }),
  value,
);
const fields = { id: value, changeType: value, attributes, extra: value };
const entries = fc.oneof({ weight: 5, arbitrary: objectOf(fields) }, objectOf({ ...fields, ...withProto }), value);
const envelopes = fc.oneof(
  { weight: 9, arbitrary: objectOf({ subscription: value, accountId: value, resource: value, payloads: value }) },
  value,
);

describe("an entry read by hand", () => {
  test("is as its schema gives it, with its fields in their order", () => {
    let byHand = 0;
    fc.assert(
      fc.property(entries, (entry) => {
        const usual = readUsualChange(entry);
        if (usual === undefined) return;
        byHand += 1;
        expect(usual).toStrictEqual(readChange(entry));
        expect(JSON.stringify(usual)).toBe(JSON.stringify(readChange(entry)));
        expect(Object.getPrototypeOf(usual)).toBe(Object.prototype);
      }),
      { numRuns: 2_000 },
    );
    expect(byHand).toBeGreaterThan(20);
  });

  test.each([
    { id: "m-1", changeType: "updated" },
    { id: "m-1", changeType: "updated", attributes: { threadId: "t-1" } },
  ])("is the usual one: %j", (entry) => {
    const read = readUsualChange(entry);
    expect(read).toStrictEqual(entry);
    expect(read).not.toBe(entry);
    expect(read?.attributes === undefined || read.attributes !== entry.attributes).toBe(true);
  });
});

test("an envelope is as its schema gives it", () => {
  const schema = z.object({ subscription: idField, accountId: idField, resource: z.string() });
  let read = 0;
  fc.assert(
    fc.property(envelopes, (json) => {
      const { envelope } = parseDocument(Buffer.from(JSON.stringify(json)));
      if (envelope !== undefined) read += 1;
      expect(envelope).toStrictEqual(schema.safeParse(json).data);
    }),
    { numRuns: 1_000 },
  );
  expect(read).toBeGreaterThan(20);
});
