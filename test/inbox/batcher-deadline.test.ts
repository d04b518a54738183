import { describe, expect, test } from "vitest";
import { createBatcher } from "../../src/inbox/batcher.ts";
import { deferred, turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";

const MS = 5_000;

/** A batcher with a deadline, whose commits the test ends by hand. */
function timed() {
  const clock = fakeClock();
  const commits: { readonly items: readonly string[]; end(): void }[] = [];
  const results: string[] = [];
  const batcher = createBatcher<string, string>({
    commit(items) {
      const { promise, resolve } = deferred<readonly string[]>();
      commits.push({ items, end: () => resolve(items.map((item) => `stored ${item}`)) });
      return promise;
    },
    sizeOf: () => 0,
    failed: () => "failed",
    deadline: { ms: MS, clock, late: () => "late" },
  });
  return {
    clock,
    batcher,
    commits,
    results,
    async add(item: string) {
      void batcher.add(item).then((result) => results.push(result));
      await turns();
    },
  };
}

describe("the deadline of a batcher:", () => {
  test("a member that is late gets `late` while its commit goes on", async () => {
    const { clock, commits, results, add } = timed();
    await add("a");
    await clock.advance(MS - 1);
    expect(results).toEqual([]);
    await clock.advance(1);
    expect(results).toEqual(["late"]);
    commits[0]?.end();
    await turns();
    expect(results).toEqual(["late"]);
    await add("b");
    expect(commits.map(({ items }) => items)).toEqual([["a"], ["b"]]);
  });

  test("goes with each member's own age", async () => {
    const { clock, results, add } = timed();
    await add("a");
    await clock.advance(3_000);
    await add("b");
    await clock.advance(2_000);
    expect(results).toEqual(["late"]);
    await clock.advance(2_999);
    expect(results).toEqual(["late"]);
    await clock.advance(1);
    expect(results).toEqual(["late", "late"]);
  });

  test("holds for what comes after all the others of a hanging commit were late", async () => {
    const { clock, results, add } = timed();
    await add("a");
    await clock.advance(MS);
    expect(results).toEqual(["late"]);
    await clock.advance(60_000);
    await add("b");
    await clock.advance(MS);
    expect(results).toEqual(["late", "late"]);
  });

  test("one that is late before its commit began is not committed: it is redelivered", async () => {
    const { clock, batcher, commits, results, add } = timed();
    await add("a");
    await add("b");
    await clock.advance(MS);
    expect(results).toEqual(["late", "late"]);
    commits[0]?.end();
    await turns();
    expect(commits.map(({ items }) => items)).toEqual([["a"]]);
    await batcher.drained();
  });

  test("a commit that hangs stops the next one until all of it are late, and no longer", async () => {
    const { clock, commits, results, add } = timed();
    await add("hangs");
    await clock.advance(MS - 1);
    await add("next");
    expect(commits).toHaveLength(1);
    await clock.advance(1);
    expect(commits.map(({ items }) => items)).toEqual([["hangs"], ["next"]]);
    commits[1]?.end();
    await turns();
    expect(results).toEqual(["late", "stored next"]);
  });

  test("of four commits that hang one has to end before another one begins", async () => {
    const { clock, commits, results, add } = timed();
    for (const item of ["a", "b", "c", "d", "e"]) {
      await add(item);
      await clock.advance(MS);
    }
    expect(results).toEqual(["late", "late", "late", "late", "late"]);
    await add("f");
    expect(commits.map(({ items }) => items)).toEqual([["a"], ["b"], ["c"], ["d"]]);
    commits[1]?.end();
    await turns();
    expect(commits.map(({ items }) => items)).toEqual([["a"], ["b"], ["c"], ["d"], ["f"]]);
  });

  test("drained waits for a commit that hangs, though others ended", async () => {
    const { clock, batcher, commits, add } = timed();
    await add("hangs");
    await clock.advance(MS);
    await add("next");
    commits[1]?.end();
    await turns();
    let isDrained = false;
    void batcher.drained().then(() => (isDrained = true));
    await turns();
    expect(isDrained).toBe(false);
    commits[0]?.end();
    await turns();
    expect(isDrained).toBe(true);
  });

  test("a result in time leaves no timer behind", async () => {
    const { clock, commits, results, add } = timed();
    await add("a");
    expect(clock.waiting).toBe(1);
    commits[0]?.end();
    await turns();
    expect([results, clock.waiting]).toEqual([["stored a"], 0]);
  });

  test("one timer serves them all", async () => {
    const { clock, add } = timed();
    for (const item of ["a", "b", "c"]) await add(item);
    expect(clock.waiting).toBe(1);
  });

  test("a wall clock that went back makes nobody wait longer: a redelivery is harmless", async () => {
    const { clock, results, add } = timed();
    await add("a");
    clock.jump(-3_600_000);
    await add("b");
    await clock.advance(MS);
    expect(results).toEqual(["late", "late"]);
  });
});
