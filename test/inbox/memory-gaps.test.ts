import { expect, test } from "vitest";
import { createMemoryGaps } from "../../src/inbox/memory/memory-gaps.ts";

const email = { source: undefined, resource: "/email/messages", family: "email" };

test("counts more gaps than a call takes arguments", async () => {
  const gaps = createMemoryGaps();
  const count = 130_000;
  await gaps.add(
    Array.from({ length: count }, (_, at) => ({
      ...email,
      subscription: at,
      accountId: at,
      cause: "refused" as const,
      from: count - at,
      until: count + at,
    })),
  );
  expect(await gaps.count()).toEqual([{ family: "email", count, open: 0, from: 1, until: 2 * count - 1 }]);
});
