import { expect, test } from "vitest";
import { createPauses } from "../../src/inbox/pauses.ts";

const NOW = 1_000;

function stored(...texts: readonly string[]) {
  return createPauses({ read: async () => texts, write: async () => true, waiting: async () => 0 }, () => NOW);
}

test.each([
  "",
  "{",
  "null",
  "7",
  "[]",
  "{}",
  '{"reason":"of nothing","since":1}',
  '{"consumer":7,"reason":"r","since":1}',
  '{"accountId":"1","reason":"r","since":1}',
  '{"consumer":"a","reason":"r"}',
  '{"consumer":"a","reason":"r","since":1e300}',
  '{"consumer":"a","reason":"r","since":1,"until":"later"}',
])("a pause that is stored as %j holds nothing, and keeps no other from being known", async (damaged) => {
  const pauses = stored(damaged, JSON.stringify({ accountId: 2, reason: "r", since: 1 }));
  await pauses.refresh();
  expect(pauses.current()).toEqual([{ accountId: 2, reason: "r", since: 1 }]);
  expect(pauses.isPaused({ consumer: "a", account: 1 })).toBe(false);
  expect(pauses.isPaused({ consumer: "a", account: 2 })).toBe(true);
});

test("a pause ends at its time, not before", async () => {
  const pauses = stored(
    JSON.stringify({ consumer: "over", reason: "r", since: 1, until: NOW }),
    JSON.stringify({ consumer: "a", reason: "r", since: 1, until: NOW + 1 }),
  );
  await pauses.refresh();
  expect(pauses.current().map(({ consumer }) => consumer)).toEqual(["a"]);
});
