import { describe, expect, test } from "vitest";
import { createOtherWorkers, type Handled } from "../../../adapters/inbox/postgres/workers/other-workers.ts";

const TYPES = ["email.created", "contact.created"] as const;

/** Types of which nobody but this one would look at unhandled jobs. */
function leftTo(
  mine: Handled | null,
  others: readonly { readonly handled: Handled | null; readonly expands: boolean }[],
) {
  const seen = createOtherWorkers({ id: 1, handled: mine });
  const me = { id: 1, handled: mine, expands: others.every(({ expands }) => !expands) };
  seen.see([me, ...others.map((other, place) => ({ ...other, id: 2 + place }))]);
  const types = TYPES.filter((type) => seen.isLeftTo(type));
  expect(seen.hasOwn).toBe(types.length > 0);
  return types;
}

const both: Handled = { default: TYPES };
const emails: Handled = { default: ["email.created"] };

describe("unhandled jobs are left to a worker", () => {
  test.each([
    ["of which the one that expands lacks the type", both, emails, ["contact.created"]],
    ["of which it lacks a consumer of the type", { ...emails, search: ["email.created"] }, emails, ["email.created"]],
    ["unless that one handles all and more", emails, both, []],
    ["unless both handle the same", both, both, []],
    ["unless it is not known what that one handles", both, null, []],
    ["unless it is not known what this one handles", null, emails, []],
  ] as const)("%s", (_, mine, theirs, types) => {
    expect(leftTo(mine, [{ handled: theirs, expands: true }])).toEqual(types);
  });

  test("whatever others handle that do not expand", () => {
    const expander = { handled: emails, expands: true };
    expect(leftTo(both, [{ handled: both, expands: false }, expander])).toEqual(["contact.created"]);
    expect(leftTo(both, [{ handled: emails, expands: false }])).toEqual([]);
  });

  test("until the expansion goes to one that handles all, though nobody came or went", () => {
    const others = createOtherWorkers({ id: 1, handled: emails });
    const workers = (expander: number) =>
      [1, 2, 3].map((id) => ({ id, handled: id === 3 ? {} : emails, expands: id === expander }));
    expect([others.see(workers(3)), others.hasOwn]).toEqual([true, true]);
    expect([others.see(workers(2)), others.hasOwn]).toEqual([false, false]);
  });
});

test("nothing is left to a worker that stops, from the look on that shows it", () => {
  const others = createOtherWorkers({ id: 1, handled: emails });
  const look = (handled: Handled) => [
    { id: 1, handled: emails, expands: true },
    { id: 2, handled, expands: false },
  ];
  expect([others.see(look(both)), others.heirOfAll()]).toEqual([true, 2]);
  expect([others.see(look(both)), others.heirOfAll()]).toEqual([false, 2]);
  expect([others.see(look({})), others.heirOfAll()]).toEqual([true, undefined]);
  expect([others.see(look({})), others.heirOfAll()]).toEqual([false, undefined]);
});
