import { expect, test } from "vitest";
import type { Queries } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createDayPartitions } from "../../../adapters/inbox/postgres/upkeep/day-partitions.ts";

/** What the server's functions give, one call after the other; the last one for all later calls. */
interface Answers {
  readonly barrier?: readonly (number | null)[];
  readonly keep_page?: readonly (object | null)[];
  readonly keep_late?: readonly (boolean | null)[];
  readonly drop_day?: readonly string[];
  /** From this pause on the process may no longer go on. */
  readonly pauses?: number;
}

type Step = Exclude<keyof Answers, "pauses">;

function days({ pauses = Infinity, ...given }: Answers) {
  const answers: Record<Step, readonly unknown[]> = {
    barrier: [1],
    keep_page: [{}],
    keep_late: [false],
    drop_day: ["dropped"],
    ...given,
  };
  const calls: Step[] = [];
  const queries: Queries = {
    async query(text) {
      const step = (Object.keys(answers) as Step[]).find((name) => text.includes(`hl.${name}(`)) ?? "barrier";
      const nth = calls.filter((one) => one === step).length;
      calls.push(step);
      const answer = answers[step][Math.min(nth, answers[step].length - 1)];
      return [{ since: answer, next: answer, more: answer, outcome: answer }] as never;
    },
  };
  let paused = 0;
  const partitions = createDayPartitions({ queries, ident: () => "hl", pause: async () => paused++ < pauses });
  const countOf = (step: Step): number => calls.filter((one) => one === step).length;
  return { drop: () => partitions.drop(20_000), countOf };
}

test("a day goes after all that refers to it was moved, page by page, and what came meanwhile", async () => {
  const { drop, countOf } = days({
    keep_page: [{ shard: 0, id: 500 }, { shard: 0, id: 900 }, {}],
    keep_late: [true, true, false],
  });
  expect(await drop()).toBe("dropped");
  expect([countOf("keep_page"), countOf("keep_late"), countOf("drop_day")]).toEqual([6, 3, 1]);
});

test.each<[what: string, answers: Answers, dropped: number]>([
  ["a store takes too long", { barrier: [null] }, 0],
  ["a store takes too long, once all was moved", { barrier: [1, null] }, 0],
  ["another process moves", { keep_page: [{ shard: 0, id: 1 }, null] }, 0],
  ["another process moves what came meanwhile", { keep_late: [null] }, 0],
  ["a reader uses the day", { drop_day: ["busy"] }, 1],
  ["so much comes that it never ends", { drop_day: ["again"] }, 3],
])("a day stays where %s", async (_, answers, dropped) => {
  const { drop, countOf } = days(answers);
  expect(await drop()).toBe("busy");
  expect(countOf("drop_day")).toBe(dropped);
});

test("what came between two looks is moved, and what was moved before is not looked at again", async () => {
  const { drop, countOf } = days({ drop_day: ["again", "busy", "dropped"] });
  expect([await drop(), await drop()]).toEqual(["busy", "dropped"]);
  expect([countOf("keep_page"), countOf("drop_day")]).toEqual([4, 3]);
});

test.each([0, 3, 4])("a process that may not go on after %i pauses leaves the day", async (pauses) => {
  const { drop, countOf } = days({ pauses });
  expect(await drop()).toBe("over");
  expect(countOf("drop_day")).toBe(0);
});
