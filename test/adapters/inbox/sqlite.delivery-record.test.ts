import fc from "fast-check";
import type { Delivery } from "hookline/adapter";
import { expect, test } from "vitest";
import {
  createBatchMemory,
  decodeHeaders,
  readDeliveries,
  type DeliveryRecord,
} from "../../../adapters/inbox/sqlite/store/delivery-record.ts";
import type { NewJobs } from "../../../adapters/inbox/sqlite/thread/records.ts";

const text = fc.string({ unit: "grapheme", maxLength: 30 });
const number = fc.option(fc.integer({ min: 1 }));
const signature = fc.stringMatching(/^[0-9a-f]{64}$/);

/** As the service sends them, in that order; with another value of the signature, in another order, or others. */
const headers = (of: string): fc.Arbitrary<Record<string, string>> => {
  const [own, at, type] = ["x-aurinko-signature", "x-aurinko-request-timestamp", "content-type"] as const;
  return fc.oneof(
    text.map((value) => ({ [own]: of, [at]: value, [type]: "application/json" })),
    text.map((value) => ({ [own]: value, [at]: "1", [type]: "text/plain" })),
    text.map((value) => ({ [at]: value, [own]: of, [type]: "text/plain" })),
    text.map((value) => ({ [own]: of, [at]: value, [type]: "text/plain", more: "" })),
    text.map((value) => ({ [own]: of, [at]: value })),
    fc.dictionary(text, text, { maxKeys: 4 }),
  );
};

const delivery: fc.Arbitrary<Delivery> = signature.chain((of) =>
  fc.record({
    receivedAt: fc.nat(),
    sentAt: fc.nat(),
    source: fc.option(text, { nil: undefined }),
    signedBy: text,
    signature: fc.constant(of),
    headers: headers(of),
    body: fc.oneof(
      fc.uint8Array({ maxLength: 50 }),
      fc.integer({ min: 0, max: 1_500_000 }).map((bytes) => Buffer.alloc(bytes, "ä")),
    ),
  }),
);

const jobs: fc.Arbitrary<NewJobs> = fc.record({
  lines: text,
  states: fc.stringMatching(/^[fwsu]{0,9}$/),
  account: number,
  subscription: number,
  extras: fc.option(text),
});

const given = fc.record({
  delivery,
  idInQueue: fc.option(text, { nil: undefined }),
  jobs: fc.option(jobs, { nil: undefined }),
});

test("what is written for a commit is read back the same, also where it does not fit the memory that is used again", () => {
  const memory = createBatchMemory();
  fc.assert(
    fc.property(fc.array(given, { maxLength: 5 }), fc.nat(5), (all, first) => {
      const writer = memory.begin();
      let offset = 0;
      for (const [index, one] of all.entries()) {
        if (index === first) offset = writer.size;
        writer.add(one, one.jobs);
      }
      const written = all.slice(first);
      const read = [...readDeliveries(writer.bytes(), { offset, count: written.length })];
      for (const [index, { delivery: expected, idInQueue = null, jobs: made = null }] of written.entries()) {
        const { body, headers: encoded, source, jobs: found, idInQueue: id, ...rest } = read[index] as DeliveryRecord;
        const decoded = decodeHeaders(encoded, rest.signature);
        expect({ ...rest, source: source ?? undefined, headers: decoded }).toEqual({ ...expected, body: undefined });
        // In their order, too: a second verification may join them.
        expect(Object.keys(decoded)).toEqual(Object.keys(expected.headers));
        expect([id, found]).toEqual([idInQueue, made]);
        expect(Buffer.compare(body, expected.body)).toBe(0);
      }
    }),
    { numRuns: 60 },
  );
});

test("the usual headers take no more room than their values", () => {
  const writer = createBatchMemory().begin();
  const usual = {
    "x-aurinko-signature": "ab",
    "x-aurinko-request-timestamp": "17",
    "content-type": "application/json",
  };
  const one = {
    receivedAt: 1,
    sentAt: 1,
    source: undefined,
    signedBy: "default",
    signature: "ab",
    body: new Uint8Array(),
  };
  writer.add({ delivery: { ...one, headers: usual } }, undefined);
  const [record] = readDeliveries(writer.bytes(), { offset: 0, count: 1 });
  expect(record?.headers).toBe('["17","application/json"]');
});

test("memory that a thread may still read is not written again", () => {
  const memory = createBatchMemory();
  const before = memory.begin().bytes().buffer;
  expect(memory.begin().bytes().buffer).toBe(before);
  memory.discard();
  expect(memory.begin().bytes().buffer).not.toBe(before);
});
