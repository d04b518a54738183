import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { orphaned } from "../../src/inbox/job-deaths.ts";
import { claimed, FRESH, isDue, settled, type Progress } from "../../src/inbox/job-state.ts";
import type { JobOutcome } from "../../src/inbox/port/claims.ts";

const T = Date.parse("2026-05-06T07:08:09Z");
const error = { name: "Error", message: "no", at: T };

function retry(delayMs: number, counted = true, now = T): JobOutcome {
  return { to: "retry", at: now + delayMs, delayMs, counted, error };
}

/** A job that was claimed and failed `times` times, each retry due at once. */
function failed(times: number): Progress {
  let progress = FRESH;
  for (let time = 0; time < times; time += 1) progress = settled(claimed(progress, T), retry(0), T);
  return progress;
}

describe("a waiting job is due", () => {
  test("at once when it was never tried", () => {
    expect(isDue(FRESH, 0)).toBe(true);
    expect(isDue(FRESH, T)).toBe(true);
  });

  test("when its time has come, to the millisecond", () => {
    const progress = settled(claimed(FRESH, T), retry(60_000), T);
    expect(isDue(progress, T + 59_999)).toBe(false);
    expect(isDue(progress, T + 60_000)).toBe(true);
    expect(isDue(progress, T + 3_600_000)).toBe(true);
  });

  test("when more than its own delay is still to go: the wall clock jumped back", () => {
    const progress = settled(claimed(FRESH, T), retry(60_000), T);
    expect(isDue(progress, T)).toBe(false);
    expect(isDue(progress, T - 1)).toBe(true);
    expect(isDue(progress, T - 86_400_000)).toBe(true);
  });

  test("never later than its own delay from now, wherever the clock stands", () => {
    fc.assert(
      fc.property(fc.nat(600_000), fc.integer({ min: -1e9, max: 1e9 }), (delayMs, jump) => {
        const progress = settled(claimed(FRESH, T), retry(delayMs), T);
        const now = T + jump;
        expect(isDue(progress, now) || progress.runAt - now <= delayMs).toBe(true);
      }),
    );
  });
});

describe("a claim", () => {
  test("counts the attempt from here, and notes when the first one was", () => {
    const first = claimed(FRESH, T);
    expect(first).toMatchObject({ state: "running", attempts: 1, firstAttemptAt: T });
    const second = claimed(settled(first, retry(1_000), T), T + 5_000);
    expect(second).toMatchObject({ state: "running", attempts: 2, firstAttemptAt: T });
  });

  test("changes nothing in place: fresh jobs share one progress", () => {
    const before = structuredClone(FRESH);
    settled(claimed(FRESH, T), retry(1_000), T);
    expect(FRESH).toEqual(before);
  });
});

describe("what a settlement makes of a running job:", () => {
  test("done ends it", () => {
    expect(settled(claimed(FRESH, T), { to: "done" }, T + 9)).toMatchObject({ state: "done", settledAt: T + 9 });
  });

  test("dead ends it, with the error", () => {
    const dead = settled(claimed(FRESH, T), { to: "dead", error }, T + 9);
    expect(dead).toMatchObject({ state: "dead", settledAt: T + 9, error, attempts: 1 });
  });

  test("retry keeps its delay beside its time, and the error", () => {
    const progress = settled(claimed(FRESH, T), retry(1_500), T);
    expect(progress).toMatchObject({ state: "waiting", attempts: 1, runAt: T + 1_500, delayMs: 1_500, error });
    expect(progress.settledAt).toBeUndefined();
  });

  test("a retry that is not counted takes the attempt back, but not the time of the first one", () => {
    const later = settled(claimed(FRESH, T), retry(1_500, false), T);
    expect(later).toMatchObject({ attempts: 0, firstAttemptAt: T, runAt: T + 1_500 });
    expect(claimed(later, T + 1_500)).toMatchObject({ attempts: 1, firstAttemptAt: T });
  });

  test("release is as if it had not been claimed: no attempt is burned, and it is due at once", () => {
    expect(settled(claimed(FRESH, T), { to: "release" }, T + 9)).toEqual(FRESH);
    const tried = failed(3);
    const released = settled(claimed(tried, T + 60_000), { to: "release" }, T + 60_009);
    expect(released).toMatchObject({ state: "waiting", attempts: 3, firstAttemptAt: T, error });
    expect(isDue(released, T)).toBe(true);
  });

  test("a release after a retry that was not counted keeps the time of the first attempt: it still bounds the job", () => {
    const later = settled(claimed(FRESH, T), retry(1_000, false), T);
    expect(settled(claimed(later, T + 1_000), { to: "release" }, T + 1_000)).toMatchObject({
      attempts: 0,
      firstAttemptAt: T,
    });
  });

  test("unhandled takes the attempt back: no handler saw it", () => {
    const progress = settled(claimed(FRESH, T), { to: "unhandled" }, T + 9);
    expect(progress).toMatchObject({ state: "unhandled", attempts: 0, firstAttemptAt: undefined, settledAt: T + 9 });
  });
});

describe("deaths:", () => {
  test("a process that died over a job counts one attempt and one death, and the job is due at once", () => {
    const [once = FRESH] = orphaned([claimed(failed(1), T)]);
    expect(once).toMatchObject({ state: "waiting", attempts: 2, deaths: 1 });
    expect(isDue(once, 0)).toBe(true);
    expect(orphaned([claimed(once, T)])).toMatchObject([{ attempts: 3, deaths: 2 }]);
  });

  /** The process dies over these, which it ran together. */
  const dieOver = (...all: readonly Progress[]): Progress[] => orphaned(all.map((each) => claimed(each, T)));
  const [suspect = FRESH] = dieOver(...dieOver(FRESH));

  test("two make a suspect, whatever ran beside it", () => {
    expect(dieOver(...dieOver(FRESH, FRESH))).toMatchObject([{ deaths: 2 }, { deaths: 2 }]);
    expect(suspect.groupMax).toBeUndefined();
  });

  test("a suspect that was alone among its like has a third one, and remains alone", () => {
    expect(dieOver(suspect, FRESH)).toMatchObject([{ attempts: 3, deaths: 3, groupMax: 1 }, { deaths: 1 }]);
  });

  test("a group of suspects counts none, and half as many run together from then on", () => {
    let group = Array.from({ length: 7 }, () => suspect);
    for (const groupMax of [4, 2, 1]) {
      group = dieOver(...group);
      for (const each of group) expect(each).toMatchObject({ deaths: 2, groupMax });
      group = group.slice(0, groupMax);
    }
    expect(group).toMatchObject([{ attempts: 5 }]);
    expect(dieOver(...group)).toMatchObject([{ deaths: 3, groupMax: 1 }]);
  });

  test("a group never grows again, whatever it was joined by", () => {
    const [halved = FRESH] = dieOver(suspect, suspect, suspect, suspect);
    expect(dieOver(halved, ...Array.from({ length: 9 }, () => suspect))[0]).toMatchObject({ groupMax: 2 });
  });

  test.each([{ to: "done" }, { to: "dead", error }, retry(1_000), retry(1_000, false)] satisfies JobOutcome[])(
    "a run that ends, well or badly, sets them to 0: $to",
    (outcome) => {
      const [halved = FRESH] = dieOver(suspect, suspect);
      expect(settled(claimed(halved, T), outcome, T)).toMatchObject({ deaths: 0, groupMax: undefined });
    },
  );

  test.each([{ to: "release" }, { to: "unhandled" }, retry(1_000, false)] satisfies JobOutcome[])(
    "a claim from the third death on counts no attempt, so $to takes none back",
    (outcome) => {
      const deadLetter = { ...FRESH, attempts: 3, deaths: 3, firstAttemptAt: T };
      expect(claimed(deadLetter, T + 9)).toMatchObject({ attempts: 3 });
      expect(settled(claimed(deadLetter, T + 9), outcome, T + 9)).toMatchObject({ attempts: 3, firstAttemptAt: T });
    },
  );

  test("a release leaves them: the run came to nothing", () => {
    const [halved = FRESH] = dieOver(suspect, suspect);
    expect(settled(claimed(halved, T), { to: "release" }, T)).toMatchObject({ attempts: 3, deaths: 2, groupMax: 1 });
  });
});
