import { expect, test } from "vitest";
import { createParkedLanes, type ParkedLane, type ParkedLanes } from "../../src/inbox/parked-lanes.ts";

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
  expect([parked.size, parked.lanes, parked.nextDueAt(), parked.oldestReceivedAt()]).toEqual([4, 3, T + 30_000, 1]);
  expect(backAt(parked, T + 29_999)).toEqual([]);
  expect(backAt(parked, T + 60_000)).toEqual([[3], [1, 4], [2]]);
  expect([parked.size, parked.lanes, parked.nextDueAt(), parked.oldestReceivedAt()]).toEqual([
    0,
    0,
    undefined,
    undefined,
  ]);
});

test("a page that was not read comes again", () => {
  const parked = parkedWith(lane("a", [1]));
  expect(parked.due(T + 60_000, 9)).toEqual({ ids: [1] });
  expect(parked.due(T + 60_000, 9)).toEqual({ ids: [1] });
});

test("a lane is parked until all of its group is back, with what came into it meanwhile", () => {
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

test("what is parked while a group of the same time comes back is not to come back with it", () => {
  const parked = parkedWith(lane("a", [1, 2]));
  expect(parked.due(T + 60_000, 1)).toEqual({ ids: [1] });
  parked.park(lane("b", [5], { runAt: T + 60_001 }));
  expect(backAt(parked, T + 59_999)).toEqual([[1, 2]]);
  expect(backAt(parked, T + 60_000)).toEqual([[5]]);
});

test("without a key it is a lane of its own, which nothing joins", () => {
  const parked = parkedWith(lane(undefined, [1]), lane(undefined, [2]));
  expect([parked.lanes, parked.has(undefined), parked.join(3, undefined)]).toEqual([2, false, false]);
});

test("a time further away than the longest delay was set before the clock went back: it is due", () => {
  const parked = parkedWith(lane("a", [1]), lane("b", [2], { runAt: T + 65_000, delayMs: 90_000 }));
  expect(backAt(parked, T - 30_000)).toEqual([]);
  expect(backAt(parked, T - 30_001)).toEqual([[1, 2]]);
});

test("all come back once where some may be gone, those parked afterwards do not", () => {
  const parked = parkedWith(lane("a", [1]));
  parked.recheck();
  parked.park(lane("b", [2]));
  expect(backAt(parked, T)).toEqual([[1]]);
});

test("the window of a lane comes back with it once", () => {
  const window = { since: 1, upTo: 3 };
  const parked = parkedWith(lane("a", [1], { window }), lane("b", [2]));
  expect([parked.setWindow("b", { since: 2, upTo: 2 }), parked.setWindow("c", window)]).toEqual([true, false]);
  expect([parked.windowOf("a"), parked.windowOf("a"), parked.windowOf(undefined)]).toEqual([
    window,
    undefined,
    undefined,
  ]);
  expect(parked.windowOf("b")).toEqual({ since: 2, upTo: 2 });
});

test("a page of lanes that are not parked any more counts for nothing", () => {
  const [parked, other] = [parkedWith(lane("a", [1])), parkedWith(lane("a", [1]))];
  const page = other.due(T + 60_000, 9);
  if (page === undefined) throw new Error("Nothing is due.");
  expect(parked.back(page)).toBe(false);
  expect([other.back(page), other.back(page)]).toEqual([true, false]);
});
