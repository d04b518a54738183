import { expect, test } from "vitest";
import { createMemoryGaps } from "../../src/inbox/memory/memory-gaps.ts";

const email = { source: undefined, resource: "/email/messages", family: "email" };

const window = { cause: "refused", from: 1, until: 2 } as const;
const of = (at: number) => ({ ...email, subscription: at, accountId: at });
const gapOf = (at: number) => ({ ...of(at), ...window });

test("counts more gaps than a call takes arguments, and forgets those of which nothing came for longest beyond 100,000", async () => {
  const gaps = createMemoryGaps();
  const count = 130_000;
  await gaps.add([gapOf(0)]);
  for (let at = 1; at < count; at += 1) {
    await gaps.add([{ ...of(at), cause: "refused", from: count - at, until: count + at }]);
    if (at % 10_000 === 0) await gaps.seen([of(0)], at);
  }
  expect(await gaps.count()).toEqual([{ family: "email", count: 100_000, open: 0, from: 1, until: 2 * count - 1 }]);
  expect((await gaps.find({ limit: 2 })).gaps.map(({ subscription }) => subscription)).toEqual([0, 30_001]);
});

test("pages in the order in which resources were first seen, whichever was seen since", async () => {
  const gaps = createMemoryGaps();
  await gaps.add([1, 2, 3, 4].map(gapOf));
  await gaps.seen([of(2)], 5);
  const first = await gaps.find({ limit: 2 });
  const second = await gaps.find({ limit: 2, after: first.next });
  const pages = [first, second].map((page) => page.gaps.map(({ subscription }) => subscription));
  expect([pages, second.next]).toEqual([
    [
      [1, 2],
      [3, 4],
    ],
    undefined,
  ]);
});
