import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FRESH, type Progress } from "../../src/inbox/job-state.ts";
import { createLaneQueues, type LaneRow } from "../../src/inbox/lane-queues.ts";
import type { ClaimRules } from "../../src/inbox/port/claims.ts";

const T = 1_000_000;
let lastId = 0;

interface Row extends LaneRow {
  readonly account: number | undefined;
}

function row(
  account: number | undefined,
  lane?: string,
  more: { consumer?: string; progress?: Partial<Progress> } = {},
): Row {
  lastId += 1;
  const { consumer = "crm", progress } = more;
  const unset = { mergeKey: undefined, next: undefined, queuedIn: undefined };
  return { id: lastId, lane, consumer, account, progress: { ...FRESH, ...progress }, ...unset };
}

function rules(given: Partial<ClaimRules> = {}): ClaimRules {
  const none = { perAccount: () => Infinity, isHeld: () => false, isPaused: () => false };
  return { fairness: "account", ...none, version: 0, isPausing: false, resumed: 0, ...given };
}

function queues(...rows: readonly Row[]) {
  const book = createLaneQueues<Row>();
  for (const one of rows) book.append(one, T);
  return {
    book,
    take: (max: number, given: ClaimRules = rules()) =>
      book.take({ max, mergeMax: 1, rules: given }, T).map(([head]) => head),
    done(...settled: readonly Row[]) {
      for (const one of settled) {
        one.progress = { ...FRESH, state: "done" };
        book.release([one], T);
      }
    },
  };
}

const accountsOf = (rows: readonly Row[]): (number | undefined)[] => rows.map(({ account }) => account);

describe("accounts take turns", () => {
  test("a single job of another account comes second, however much the first one has", () => {
    const { take } = queues(...Array.from({ length: 1_000 }, () => row(1)), row(2));
    expect(accountsOf(take(4))).toEqual([1, 2, 1, 1]);
  });

  test("within an account in the order in which they became ready, whatever the consumer", () => {
    const rows = ["a", "b", "a", "c", "b"].map((consumer) => row(1, undefined, { consumer }));
    expect(queues(...rows).take(9)).toEqual(rows);
  });

  test("jobs without an account share one turn", () => {
    const { take } = queues(row(undefined), row(undefined), row(undefined), row(7), row(8));
    expect(accountsOf(take(9))).toEqual([undefined, 7, 8, undefined, undefined]);
  });

  test("with `none` whatever became ready first is first", () => {
    const rows = [1, 1, 2, 1, 3, 2].map((account) => row(account));
    expect(queues(...rows).take(9, rules({ fairness: "none" }))).toEqual(rows);
  });

  test("a lane whose head is removed moves to the turn of its new head's account", () => {
    const [head, second] = [row(1, "shared"), row(2, "shared")];
    const { book, take } = queues(head, second, row(1), row(1), row(1));
    book.remove(head, T);
    expect(accountsOf(take(2))).toEqual([1, 2]);
  });

  test("a lane that waits for its time stands in no turn, and in one as soon as it is due", () => {
    const later = row(2, "later", { progress: { runAt: T + 10, delayMs: 10 } });
    const { book, take } = queues(row(1), row(1), later);
    expect(accountsOf(take(1))).toEqual([1]);
    expect(accountsOf(book.take({ max: 9, mergeMax: 1, rules: rules() }, T + 10).map(([head]) => head))).toEqual([
      1, 2,
    ]);
  });
});

describe("a limit for each account", () => {
  const two = rules({ perAccount: () => 2 });

  test("keeps the account's other lanes waiting, and nobody else's", () => {
    const { take, done } = queues(...Array.from({ length: 5 }, () => row(1)), row(2));
    const [first] = take(9, two);
    expect(accountsOf(take(9, two))).toEqual([]);
    done(first as Row);
    expect(accountsOf(take(9, two))).toEqual([1]);
  });

  test("is of a consumer", () => {
    const both = ["a", "a", "a", "b"].map((consumer) => row(1, undefined, { consumer }));
    expect(
      queues(...both)
        .take(9, two)
        .map(({ consumer }) => consumer),
    ).toEqual(["a", "a", "b"]);
  });

  test("holds for suspects as well", () => {
    const { book } = queues(...Array.from({ length: 3 }, () => row(1, undefined, { progress: { deaths: 2 } })));
    expect(book.take({ max: 9, mergeMax: 1, suspects: true, rules: two }, T)).toHaveLength(2);
    expect(book.hasSuspects()).toBe(false);
  });

  test("counts a claim whose lane is closed", () => {
    const { book, take } = queues(row(1), row(1));
    const lost = { consumer: "crm", account: 1 };
    book.close(undefined, lost);
    expect(take(9, two)).toHaveLength(1);
    book.open(undefined, lost, T);
    expect(take(9, two)).toHaveLength(1);
  });
});

describe("what is held", () => {
  test("is taken as soon as it is held no more, and costs others nothing before", () => {
    const held = new Set([1]);
    const isHeld = (_: string, account: number | undefined): boolean => held.has(account ?? 0);
    const { take, book } = queues(row(1), row(2), row(1));
    expect(accountsOf(take(9, rules({ isHeld })))).toEqual([2]);
    expect(book.mayBegin({ consumer: "crm", account: 1 })).toBe(false);
    held.clear();
    expect(accountsOf(take(9, rules({ isHeld, version: 1 })))).toEqual([1, 1]);
  });

  test("leaves the memory on request, if a pause holds it", () => {
    const paused = rules({
      isHeld: (_, account) => account === 1,
      isPaused: (_, account) => account === 1,
      isPausing: true,
    });
    const { take, book } = queues(row(1, "a"), row(2, "b"), row(1, "a"), row(1, "c"));
    expect(accountsOf(take(9, paused))).toEqual([2]);
    const withdrawn = book.withdraw(2, () => true, T);
    expect(withdrawn.map(({ key, rows, isPaused }) => [key, rows.length, isPaused])).toEqual([
      ["c", 1, true],
      ["a", 2, true],
    ]);
    expect(withdrawn.map(({ holder }) => holder)).toEqual([undefined, undefined]);
    expect([take(9), book.isFree("a"), book.isFree("b")]).toEqual([[], true, false]);
  });

  test("or if it is delayed, or has no free call", () => {
    const given = rules({ isHeld: (_, account) => account === 1, perAccount: () => 1 });
    const { take, book } = queues(row(1, "delayed"), row(2), row(2, "beyond"), row(3));
    expect(accountsOf(take(9, given))).toEqual([2, 3]);
    const withdrawn = book.withdraw(9, () => true, T);
    expect(withdrawn.map(({ key, isPaused, holder }) => [key, isPaused, holder?.account])).toEqual([
      ["delayed", false, 1],
      ["beyond", false, 2],
    ]);
    expect([book.hasReady({ consumer: "crm", account: 1 }), book.withdraw(9, () => true, T)]).toEqual([false, []]);
  });

  test("but not what may start again", () => {
    let isHeld = true;
    const given = rules({ isHeld: () => isHeld });
    const { take, book } = queues(row(1, "a"));
    expect(take(9, given)).toEqual([]);
    isHeld = false;
    expect(book.withdraw(9, () => true, T)).toEqual([]);
  });
});

type Step =
  | { readonly do: "append"; readonly account: number; readonly lane: number; readonly consumer: string }
  | { readonly do: "take"; readonly max: number }
  | { readonly do: "end"; readonly how: "done" | "release" | "retry" }
  | { readonly do: "remove"; readonly nth: number }
  | { readonly do: "hold"; readonly account: number }
  | { readonly do: "free" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      account: fc.integer({ min: 1, max: 4 }),
      lane: fc.nat(12),
      consumer: fc.constantFrom("a", "b"),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("take" as const), max: fc.integer({ min: 1, max: 4 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      how: fc.constantFrom("done" as const, "release" as const, "retry" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("remove" as const), nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("hold" as const), account: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("free" as const) }) },
);

test("whatever comes, ends, is removed, held and freed: who may start waits for one start of each other account", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), fc.constantFrom(1, 2, Infinity), (steps, limit) => {
      const held = new Set<number>();
      let [version, now] = [0, T];
      const book = createLaneQueues<Row>();
      const claimed: Row[] = [];
      /** By lane, in order. */
      const waiting = new Map<string, Row[]>();
      /** Starts of each other account since it could have started. */
      const passed = new Map<number, Map<number, number>>();
      const isHeld = (_: string, account = 0): boolean => held.has(account);

      function mayStart(): Set<number> {
        const able = new Set<number>();
        for (const [lane, [head]] of waiting) {
          if (head === undefined || claimed.some((one) => one.lane === lane) || head.progress.runAt > now) continue;
          const { account = 0, consumer } = head;
          const running = claimed.filter((one) => one.account === account && one.consumer === consumer).length;
          if (!held.has(account) && running < limit) able.add(account);
        }
        return able;
      }

      function look(): void {
        const able = mayStart();
        for (const account of passed.keys()) if (!able.has(account)) passed.delete(account);
        for (const account of able) if (!passed.has(account)) passed.set(account, new Map());
      }

      for (const one of steps) {
        now += 1;
        if (one.do === "append") {
          // A lane is of one consumer, and may be of many accounts.
          const lane = `${one.consumer} ${one.lane}`;
          const added = row(one.account, lane, { consumer: one.consumer });
          waiting.set(lane, [...(waiting.get(lane) ?? []), added]);
          book.append(added, now);
        } else if (one.do === "take") {
          for (let nth = 0; nth < one.max; nth += 1) {
            look();
            const given = rules({ isHeld, version, perAccount: () => limit });
            const [head] = book.take({ max: 1, mergeMax: 1, rules: given }, now)[0] ?? [];
            if (head === undefined) {
              expect([...mayStart()]).toEqual([]);
              break;
            }
            const { account = 0 } = head;
            expect(mayStart().has(account)).toBe(true);
            expect(waiting.get(head.lane ?? "")?.[0]).toBe(head);
            claimed.push(head);
            passed.delete(account);
            for (const starts of passed.values()) {
              starts.set(account, (starts.get(account) ?? 0) + 1);
              expect(starts.get(account)).toBeLessThanOrEqual(1);
            }
          }
        } else if (one.do === "end") {
          const head = claimed.shift();
          if (head === undefined) continue;
          if (one.how === "done") {
            waiting.get(head.lane ?? "")?.shift();
            head.progress = { ...FRESH, state: "done" };
          } else head.progress = one.how === "release" ? FRESH : { ...FRESH, runAt: now + 5, delayMs: 5 };
          book.release([head], now);
        } else if (one.do === "remove") {
          const all = [...waiting.values()].flat().filter((some) => !claimed.includes(some));
          const gone = all[one.nth % Math.max(all.length, 1)];
          if (gone === undefined) continue;
          waiting.set(gone.lane ?? "", waiting.get(gone.lane ?? "")?.filter((some) => some !== gone) ?? []);
          book.remove(gone, now);
        } else if (one.do === "hold") held.add(one.account);
        else {
          held.clear();
          version += 1;
        }
        look();
      }
    }),
    { numRuns: 500 },
  );
});
