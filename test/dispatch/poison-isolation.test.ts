import { beforeEach, describe, expect, test } from "vitest";
import {
  createPoisonIsolation,
  SUSPECT_MS,
  TURN_MS,
  type PoisonIsolation,
} from "../../src/dispatch/claims/poison-isolation.ts";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";

const WAITING = { suspects: true, nothingElse: false };
const ALONE = { suspects: true, nothingElse: true };
const GONE = { suspects: false, nothingElse: false };

let clock: FakeClock;
let wakes: number;
let overs: number;
let stuck: boolean;
let isolation: PoisonIsolation;

beforeEach(() => {
  clock = fakeClock();
  [wakes, overs, stuck] = [0, 0, false];
  isolation = createPoisonIsolation(clock, {
    stuck: () => stuck,
    over: () => void (overs += 1),
    wake: () => void (wakes += 1),
  });
});

const BUSY = true;
const FREE = false;

describe("while no suspect waits", () => {
  test("the others are claimed, whatever runs, and no time is measured", () => {
    expect([isolation.turn(BUSY), isolation.turn(FREE)]).toEqual(["others", "others"]);
    expect(isolation.found(GONE)).toBe(false);
    expect([isolation.turn(BUSY), isolation.isOthersTurn, clock.waiting]).toEqual(["others", true, 0]);
  });
});

describe("while suspects wait", () => {
  beforeEach(() => {
    expect(isolation.found(WAITING)).toBe(false);
  });

  /** Their turn begins, with a group of so many. */
  async function groupOf(size: number): Promise<(() => void)[]> {
    await clock.advance(TURN_MS);
    expect(isolation.turn(FREE)).toBe("suspects");
    return Array.from({ length: size }, () => isolation.begun());
  }

  test("the others have the first 30 s", async () => {
    await clock.advance(TURN_MS - 1);
    expect([isolation.turn(BUSY), isolation.turn(FREE), overs]).toEqual(["others", "others", 0]);
    await clock.advance(1);
    expect([isolation.turn(BUSY), isolation.isOthersTurn, overs, wakes]).toEqual(["none", false, 1, 1]);
  });

  test("they go at once where nothing else runs or is due", () => {
    expect(isolation.found(ALONE)).toBe(true);
    expect(isolation.turn(FREE)).toBe("suspects");
  });

  test("nothing is claimed until all that runs has ended, then they are", async () => {
    await clock.advance(TURN_MS);
    expect([isolation.turn(BUSY), isolation.turn(FREE)]).toEqual(["none", "suspects"]);
  });

  test("what does not end in 30 s goes on, and is waited for twice as long after a turn of that length", async () => {
    await clock.advance(2 * TURN_MS);
    for (const patience of [2, 4, 8, 10]) {
      expect([isolation.turn(BUSY), isolation.turn(FREE)]).toEqual(["others", "others"]);
      await clock.advance(patience * TURN_MS - 1);
      expect(isolation.turn(BUSY)).toBe("others");
      await clock.advance(1);
      expect(isolation.turn(BUSY)).toBe("none");
      await clock.advance(patience * TURN_MS - 1);
      expect(isolation.turn(BUSY)).toBe("none");
      await clock.advance(1);
    }
    expect(10 * TURN_MS).toBe(SUSPECT_MS);
  });

  test("what did not end in five minutes is waited for only 30 s from then on: it may never end, and nothing is claimed meanwhile", async () => {
    await clock.advance((2 + 2 * (2 + 4 + 8 + 10)) * TURN_MS);
    for (let time = 0; time < 3; time += 1) {
      await clock.advance(10 * TURN_MS - 1);
      expect(isolation.turn(BUSY)).toBe("others");
      await clock.advance(1);
      expect(isolation.turn(BUSY)).toBe("none");
      await clock.advance(TURN_MS);
      expect(isolation.turn(BUSY)).toBe("others");
    }
  });

  test("nothing is claimed while a group runs, and the next one follows it within their turn", async () => {
    const [first, second] = await groupOf(2);
    expect([isolation.turn(BUSY), isolation.turn(FREE)]).toEqual(["none", "none"]);
    const before = wakes;
    first?.();
    first?.();
    expect([isolation.turn(FREE), wakes]).toEqual(["none", before]);
    second?.();
    expect([isolation.turn(FREE), wakes]).toEqual(["suspects", before + 1]);
  });

  test("a group that is not wholly settled keeps the next one waiting", async () => {
    const [over] = await groupOf(1);
    over?.();
    expect([isolation.turn(BUSY), isolation.turn(FREE)]).toEqual(["none", "suspects"]);
  });

  test("their turn over, the others have as long as it took", async () => {
    const [over] = await groupOf(1);
    await clock.advance(3 * TURN_MS);
    over?.();
    expect(isolation.turn(FREE)).toBe("others");
    isolation.found(WAITING);
    await clock.advance(3 * TURN_MS - 1);
    expect(isolation.turn(BUSY)).toBe("others");
    await clock.advance(1);
    expect(isolation.turn(BUSY)).toBe("none");
  });

  test("their turn over, they go on at once where nothing else runs or is due", async () => {
    const [over] = await groupOf(1);
    await clock.advance(TURN_MS);
    over?.();
    expect([isolation.turn(FREE), isolation.found(ALONE), isolation.turn(FREE)]).toEqual(["others", true, "suspects"]);
  });

  test("all of them gone, the others go on at once, and the patience is as in the beginning", async () => {
    await clock.advance(2 * TURN_MS);
    expect(isolation.found(GONE)).toBe(false);
    expect(clock.waiting).toBe(0);
    isolation.found(WAITING);
    await clock.advance(TURN_MS);
    expect(isolation.found(GONE)).toBe(true);
    expect(isolation.turn(BUSY)).toBe("others");
    isolation.found(WAITING);
    await clock.advance(2 * TURN_MS);
    expect(isolation.turn(BUSY)).toBe("others");
  });

  test("beside a stuck handler they wait, and the others go on", async () => {
    stuck = true;
    expect(isolation.found(ALONE)).toBe(false);
    await clock.advance(10 * TURN_MS);
    expect([isolation.turn(BUSY), isolation.turn(FREE), overs]).toEqual(["others", "others", 0]);
    stuck = false;
    await clock.advance(TURN_MS);
    expect(isolation.turn(FREE)).toBe("suspects");
  });

  test("a handler that gets stuck while they wait for it lets the others go on", async () => {
    await clock.advance(TURN_MS);
    expect(isolation.turn(BUSY)).toBe("none");
    stuck = true;
    expect(isolation.turn(BUSY)).toBe("others");
  });

  test("a suspect that gets stuck lets the others go on", async () => {
    const [overdue] = await groupOf(1);
    stuck = true;
    overdue?.();
    expect([isolation.turn(BUSY), isolation.turn(FREE)]).toEqual(["others", "others"]);
  });

  test("a wall clock that jumps changes nothing", async () => {
    clock.jump(-86_400_000);
    await clock.advance(TURN_MS - 1);
    clock.jump(2 * 86_400_000);
    expect(isolation.turn(FREE)).toBe("others");
    await clock.advance(1);
    expect(isolation.turn(FREE)).toBe("suspects");
    const over = isolation.begun();
    clock.jump(365 * 86_400_000);
    await clock.advance(TURN_MS);
    over();
    expect(isolation.turn(FREE)).toBe("others");
    await clock.advance(TURN_MS);
    expect(isolation.turn(FREE)).toBe("suspects");
  });

  test.each([
    ["the others' turn", 0],
    ["the wait for their end", TURN_MS],
  ])("nothing is measured any more after an end in %s", async (_, ms) => {
    await clock.advance(ms);
    const before = wakes;
    isolation.stop();
    isolation.found(WAITING);
    isolation.found(ALONE);
    await clock.advance(2 * SUSPECT_MS);
    expect([wakes, clock.waiting]).toEqual([before, 0]);
  });

  test("nothing is measured any more after an end in their turn", async () => {
    const [over] = await groupOf(1);
    const before = wakes;
    isolation.stop();
    await clock.advance(2 * SUSPECT_MS);
    expect([wakes, clock.waiting]).toEqual([before, 0]);
    over?.();
  });
});

test("a stop measures no more time, and a start gives the suspects their turn again", async () => {
  isolation.stop();
  isolation.found(WAITING);
  expect(clock.waiting).toBe(0);
  isolation.start();
  isolation.found(WAITING);
  await clock.advance(TURN_MS);
  expect([isolation.turn(FREE), overs]).toEqual(["suspects", 1]);
});
