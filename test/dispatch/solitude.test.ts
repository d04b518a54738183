import { beforeEach, describe, expect, test } from "vitest";
import { createSolitude, SUSPECT_MS, type Solitude } from "../../src/dispatch/solitude.ts";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";

const busy = { busy: true, stuck: false };
const free = { busy: false, stuck: false };

let clock: FakeClock;
let wakes: number;
let solitude: Solitude;

beforeEach(() => {
  clock = fakeClock();
  wakes = 0;
  solitude = createSolitude(clock, () => {
    wakes += 1;
  });
});

describe("while no suspect waits", () => {
  test("the others are claimed, whatever runs", () => {
    expect([solitude.turn(busy), solitude.turn(free)]).toEqual(["others", "others"]);
    expect(solitude.found(false)).toBe(false);
    expect(solitude.turn(busy)).toBe("others");
  });
});

describe("while a suspect waits", () => {
  beforeEach(() => {
    expect([solitude.found(true), solitude.found(true)]).toEqual([true, false]);
  });

  test("nobody is claimed until all that runs has ended, then the suspect", () => {
    expect([solitude.turn(busy), solitude.turn(free)]).toEqual(["nobody", "suspect"]);
  });

  test("nobody is claimed while it runs, and the claiming goes on when its slot is free", () => {
    const over = solitude.begun();
    expect([solitude.turn(busy), solitude.turn(free)]).toEqual(["nobody", "nobody"]);
    over();
    expect(wakes).toBe(1);
    solitude.found(false);
    expect(solitude.turn(free)).toBe("others");
  });

  test("beside a stuck handler the others go on without it", () => {
    expect(solitude.turn({ busy: true, stuck: true })).toBe("others");
    expect(solitude.turn({ busy: false, stuck: true })).toBe("others");
  });

  test("the others wait 5 minutes at most, and then go on for as long", async () => {
    expect(SUSPECT_MS).toBe(300_000);
    expect(solitude.turn(busy)).toBe("nobody");
    await clock.advance(SUSPECT_MS - 1);
    expect([solitude.turn(busy), wakes]).toEqual(["nobody", 0]);
    await clock.advance(1);
    expect([solitude.turn(busy), wakes]).toEqual(["others", 1]);
    expect(solitude.turn(free)).toBe("suspect");
    await clock.advance(SUSPECT_MS);
    expect([solitude.turn(busy), wakes]).toEqual(["nobody", 2]);
  });

  test("the next one finds their patience whole again", async () => {
    solitude.turn(busy);
    await clock.advance(SUSPECT_MS);
    solitude.begun()();
    expect(solitude.turn(busy)).toBe("nobody");
    await clock.advance(SUSPECT_MS - 1);
    expect(solitude.turn(busy)).toBe("nobody");
  });

  test("nothing wakes any more after the end, nor when it is gone", async () => {
    solitude.turn(busy);
    solitude.found(false);
    await clock.advance(2 * SUSPECT_MS);
    solitude.found(true);
    solitude.turn(busy);
    solitude.stop();
    await clock.advance(2 * SUSPECT_MS);
    expect(wakes).toBe(0);
  });
});
