import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createParkedLanes,
  HELD,
  type ParkedLane,
  type ParkedLanes,
  type ParkedPage,
} from "../../src/inbox/parked-lanes.ts";

const T = 1_000_000;

function lane(key: string | undefined, ids: readonly number[], fields: Partial<ParkedLane> = {}): ParkedLane {
  return { key, ids, runAt: T + 60_000, delayMs: 60_000, receivedAt: ids[0] ?? 0, window: undefined, ...fields };
}

function parkedWith(...lanes: readonly ParkedLane[]): ParkedLanes {
  const parked = createParkedLanes();
  for (const one of lanes) parked.park(one);
  return parked;
}

/** The ids that come back at this time, page by page. */
function backAt(parked: ParkedLanes, now: number, most = 2): number[][] {
  const pages: number[][] = [];
  for (let page = parked.due(now, most); page !== undefined; page = parked.due(now, most)) {
    pages.push([...page.ids]);
    expect(parked.back(page)).toBe(true);
  }
  return pages;
}

test("lanes come back at the ten seconds in which they are due, soonest first, in pages", () => {
  const parked = parkedWith(lane("a", [1, 4]), lane("b", [2]), lane("c", [3], { runAt: T + 30_000 }));
  expect([parked.size, parked.blockedLanes(), parked.nextDueAt(), parked.oldestReceivedAt()]).toEqual([
    4,
    3,
    T + 30_000,
    1,
  ]);
  expect(backAt(parked, T + 29_999)).toEqual([]);
  expect(backAt(parked, T + 60_000)).toEqual([[3], [1, 4], [2]]);
  expect([parked.size, parked.blockedLanes(), parked.nextDueAt(), parked.oldestReceivedAt()]).toEqual([
    0,
    0,
    undefined,
    undefined,
  ]);
});

test("a page that was not read comes again", () => {
  const parked = parkedWith(lane("a", [1]));
  expect(parked.due(T + 60_000, 9)?.ids).toEqual([1]);
  expect(parked.due(T + 60_000, 9)?.ids).toEqual([1]);
});

test("a lane is parked until all of its jobs are back, with what came into it meanwhile", () => {
  const parked = parkedWith(lane("a", [1, 2, 3]));
  const page = parked.due(T + 60_000, 2);
  if (page === undefined) throw new Error("Nothing is due.");
  parked.back(page);
  expect([parked.has("a"), parked.join(9, "a"), parked.join(10, "b"), parked.nextDueAt()]).toEqual([
    true,
    true,
    false,
    -Infinity,
  ]);
  expect(backAt(parked, 0)).toEqual([[3, 9]]);
  expect([parked.has("a"), parked.join(11, "a")]).toEqual([false, false]);
});

test("a lane that is back is parked no more, though others of its group are", () => {
  const parked = parkedWith(lane("a", [1, 2]), lane("b", [3]), lane(undefined, [4]));
  const page = parked.due(T + 60_000, 2);
  if (page === undefined) throw new Error("Nothing is due.");
  parked.back(page);
  expect([parked.has("a"), parked.has("b"), parked.size]).toEqual([false, true, 2]);
  parked.park(lane("a", [2], { runAt: T + 90_000 }));
  expect(backAt(parked, T + 60_000)).toEqual([[3, 4]]);
  expect(backAt(parked, T + 90_000)).toEqual([[2]]);
});

test("what came back of a lane is parked in front of its rest, which does not come before it", () => {
  const parked = parkedWith(lane("a", [1, 2, 3]), lane("b", [4]));
  const page = parked.due(T + 60_000, 1);
  if (page === undefined) throw new Error("Nothing is due.");
  parked.back(page);
  const rest = parked.due(T + 60_000, 9);
  if (rest === undefined) throw new Error("Nothing is due.");
  parked.park(lane("a", [1], { runAt: T + 90_000 }));
  expect([parked.back(rest), parked.blockedLanes(), parked.size]).toEqual([false, 1, 4]);
  expect(backAt(parked, T + 60_000)).toEqual([[4]]);
  expect([parked.join(5, "a"), parked.nextDueAt()]).toEqual([true, T + 90_000]);
  expect(backAt(parked, T + 90_000, 9)).toEqual([[1, 2, 3, 5]]);
  expect([parked.has("a"), parked.size, parked.nextDueAt()]).toEqual([false, 0, undefined]);
});

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ park: fc.constantFrom("a", "b", "c"), jobs: fc.nat(3), at: fc.nat(40_000) }) },
  { weight: 3, arbitrary: fc.record({ join: fc.constantFrom("a", "b", "c") }) },
  { weight: 6, arbitrary: fc.record({ read: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 6, arbitrary: fc.constant({ back: true }) },
  { weight: 2, arbitrary: fc.record({ run: fc.constantFrom("a", "b", "c") }) },
  { weight: 3, arbitrary: fc.record({ pass: fc.nat(15_000) }) },
  { weight: 1, arbitrary: fc.constant({ recheck: true }) },
);

test("whatever leaves and comes back, in whatever parts: each job comes once, none before an older one of its lane", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const parked = createParkedLanes();
      const [here, there] = [new Map<string, number[]>(), new Map<string, number[]>()];
      const of = (lanes: Map<string, number[]>, key: string): number[] => lanes.get(key) ?? [];
      let [now, last] = [T, 0];
      let page: ParkedPage | undefined;

      function comeBack(read: ParkedPage | undefined): void {
        if (read === undefined || !parked.back(read)) return;
        for (const [key, ids] of there) {
          const back = read.ids.filter((id) => ids.includes(id));
          expect(back).toEqual(ids.slice(0, back.length));
          here.set(key, [...of(here, key), ...back]);
          there.set(key, ids.slice(back.length));
        }
      }

      for (const one of steps) {
        if ("pass" in one) now += one.pass;
        else if ("read" in one) page = parked.due(now, one.read);
        else if ("back" in one) comeBack(page);
        else if ("recheck" in one) parked.recheck(new Set([...there.values()].flat()));
        else if ("run" in one) here.set(one.run, of(here, one.run).slice(1));
        else if ("join" in one) {
          if (!parked.join((last += 1), one.join)) continue;
          there.set(one.join, [...of(there, one.join), last]);
        } else {
          if (of(there, one.park).length === 0)
            for (let count = 0; count < one.jobs; count += 1) here.set(one.park, [...of(here, one.park), (last += 1)]);
          const ids = of(here, one.park);
          if (ids.length === 0) continue;
          parked.park(lane(one.park, ids, { runAt: now + one.at }));
          there.set(one.park, [...ids, ...of(there, one.park)]);
          here.set(one.park, []);
        }
        expect(parked.size).toBe([...there.values()].flat().length);
        for (const key of ["a", "b", "c"]) expect(parked.has(key)).toBe(of(there, key).length > 0);
      }
      for (let read = parked.due(Infinity, 2); read !== undefined; read = parked.due(Infinity, 2)) comeBack(read);
      expect([...there.values()].flat()).toEqual([]);
      expect([parked.size, parked.nextDueAt()]).toEqual([0, undefined]);
    }),
    { numRuns: 1_000 },
  );
});

test("what is parked while a group of the same time comes back is not to come back with it", () => {
  const parked = parkedWith(lane("a", [1, 2]));
  expect(parked.due(T + 60_000, 1)?.ids).toEqual([1]);
  parked.park(lane("b", [5], { runAt: T + 60_001 }));
  expect(backAt(parked, T + 59_999)).toEqual([[1], [2]]);
  expect(backAt(parked, T + 60_000)).toEqual([[5]]);
});

test("without a key it is a lane of its own, which nothing joins", () => {
  const parked = parkedWith(lane(undefined, [1]), lane(undefined, [2]));
  expect([parked.blockedLanes(), parked.has(undefined), parked.join(3, undefined)]).toEqual([2, false, false]);
});

test("a time further away than the longest delay was set before the clock went back: it is due", () => {
  const parked = parkedWith(lane("a", [1]), lane("b", [2], { runAt: T + 65_000, delayMs: 90_000 }));
  expect(backAt(parked, T - 30_000)).toEqual([]);
  expect(backAt(parked, T - 30_001)).toEqual([[1, 2]]);
});

test("all of a time come back once where some may be gone, those parked afterwards do not", () => {
  const parked = parkedWith(lane("a", [1]));
  parked.recheck(new Set([1]));
  parked.park(lane("b", [2]));
  expect(backAt(parked, T)).toEqual([[1]]);
});

test.each([
  ["is parked", 1, true],
  ["stands behind one that is", 3, true],
  ["is back, and one that was never parked", 2, false],
])("they come back where one that is gone %s: %i", (_, id, comesBack) => {
  const parked = parkedWith(
    lane("a", [1, 3]),
    lane("b", [2], { runAt: T }),
    lane("c", [4], { runAt: T + 90_000, delayMs: 90_000 }),
  );
  expect(backAt(parked, T)).toEqual([[2]]);
  parked.recheck(new Set([id, 99]));
  expect(backAt(parked, T)).toEqual(comesBack ? [[1, 3]] : []);
});

test("what is being read when some may be gone is read again: it may be of before", () => {
  const parked = parkedWith(lane("a", [1]));
  const page = parked.due(T + 60_000, 9);
  if (page === undefined) throw new Error("Nothing is due.");
  parked.recheck(new Set([1]));
  expect([parked.back(page), parked.size]).toEqual([false, 1]);
  expect(backAt(parked, T)).toEqual([[1]]);
});

test("the window of a lane comes back with each part of it, and is gone with the last one", () => {
  const window = { since: 1, upTo: 3 };
  const parked = parkedWith(lane("a", [1, 3], { window }));
  parked.setWindow("c", window);
  const windows = [parked.windowOf("c"), parked.windowOf(undefined)];
  for (let page = parked.due(T + 60_000, 1); page !== undefined; page = parked.due(T + 60_000, 1)) {
    parked.back(page);
    windows.push(parked.windowOf("a"));
  }
  expect(windows).toEqual([undefined, undefined, window, window]);
  expect(parked.windowOf("a")).toBeUndefined();
});

test("the window of a lane that is back in part is what it became there, or is none", () => {
  const parked = parkedWith(lane("a", [1, 2], { window: { since: 1, upTo: 3 } }));
  parked.setWindow("a", { since: 2, upTo: 2 });
  expect(parked.windowOf("a")).toEqual({ since: 2, upTo: 2 });
  parked.setWindow("a", null);
  expect(parked.windowOf("a")).toBeUndefined();
});

test("the rest of a lane is what is not back of it", () => {
  const parked = parkedWith(lane("a", [1, 2, 3]), lane("b", [4]), lane(undefined, [5]));
  const page = parked.due(T + 60_000, 1);
  if (page === undefined) throw new Error("Nothing is due.");
  parked.back(page);
  parked.join(6, "a");
  expect(["a", "b", "c", undefined].map(parked.restOf)).toEqual([[2, 6], [4, 4], undefined, undefined]);
});

test("a page of lanes that are not parked any more counts for nothing", () => {
  const [parked, other] = [parkedWith(lane("a", [1])), parkedWith(lane("a", [1]))];
  const page = other.due(T + 60_000, 9);
  if (page === undefined) throw new Error("Nothing is due.");
  expect(parked.back(page)).toBe(false);
  expect([other.back(page), other.back(page)]).toEqual([true, false]);
});

test("what a holder has comes back a page at a time, each time it is free, and what was parked first is first", () => {
  const holder = { consumer: "crm", account: 1 };
  const parked = parkedWith(
    ...[1, 2, 3].map((id) => lane(`${id}`, [id], { ...HELD, holder })),
    lane("other", [9], { ...HELD, holder: { consumer: "crm", account: 2 } }),
  );
  const free = (account: number) => parked.free((one) => one.account === account);
  expect([backAt(parked, T), parked.blockedLanes(), parked.paused(), parked.oldestReceivedAt()]).toEqual([[], 0, 0, 1]);
  parked.resume();
  expect(backAt(parked, T)).toEqual([]);
  free(1);
  expect([parked.nextDueAt(), backAt(parked, T), backAt(parked, T)]).toEqual([-Infinity, [[1, 2]], []]);
  parked.park(lane("4", [4], { ...HELD, holder }));
  free(1);
  expect(backAt(parked, T)).toEqual([[3]]);
  free(1);
  expect(backAt(parked, T)).toEqual([[4]]);
  parked.park(lane("5", [5], { ...HELD, holder }));
  parked.recheck(new Set([5]));
  expect([backAt(parked, T), parked.size]).toEqual([[[5]], 1]);
});

test("what a holder has counts as paused while a pause holds it", () => {
  let paused = 0;
  const parked = createParkedLanes(({ account }) => account === paused);
  parked.park(lane("a", [1, 2], { ...HELD, holder: { consumer: "crm", account: 1 } }));
  paused = 1;
  expect([parked.paused(), parked.oldestReceivedAt()]).toEqual([2, Infinity]);
});

test("a group that all lanes have left does not keep back the next one of its holder", () => {
  const lanes = createParkedLanes();
  const holder = { consumer: "c", account: 1 };
  const park = (ids: readonly number[]): void =>
    lanes.park({ key: "one", ids: [...ids], ...HELD, receivedAt: 1, window: undefined, holder });
  park(Array.from({ length: 1_500 }, (_, nth) => nth + 1));
  lanes.free(() => true);
  const page = lanes.due(0, 1_000);
  expect(page !== undefined && lanes.back(page)).toBe(true);
  // Ten have run, and the account is held again: the rest joins what is parked.
  park(page?.ids.slice(10) ?? []);
  lanes.free(() => true);
  expect(lanes.due(0, 1_000)?.ids).toHaveLength(1_000);
});
