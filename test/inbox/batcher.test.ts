import { describe, expect, test } from "vitest";
import { createBatcher, type BatcherOptions } from "../../src/inbox/batcher.ts";
import { deferred, turns } from "../support/event-loop.ts";

interface Commit {
  readonly items: readonly string[];
  end(): void;
  fail(error: unknown): void;
}

/** A batcher whose commits the test ends by hand; a result is the item in upper case. */
function heldBatcher(options: Partial<BatcherOptions<string, string>> = {}) {
  const commits: Commit[] = [];
  const results: string[] = [];
  const batcher = createBatcher<string, string>({
    commit(items) {
      const { promise, resolve, reject } = deferred<readonly string[]>();
      commits.push({ items, end: () => resolve(items.map((item) => item.toUpperCase())), fail: reject });
      return promise;
    },
    sizeOf: () => 1,
    failed: (error) => `failed: ${String(error)}`,
    ...options,
  });
  const add = (...items: readonly string[]): void => {
    for (const item of items) void batcher.add(item).then((result) => results.push(result));
  };
  return { batcher, commits, results, add };
}

describe("a batcher", () => {
  test("gathers what comes in one turn of the loop into one commit, in order", async () => {
    const { commits, results, add } = heldBatcher();
    add("a", "b");
    await Promise.resolve();
    add("c");
    expect(commits).toEqual([]);
    await turns(1);
    expect(commits.map(({ items }) => items)).toEqual([["a", "b", "c"]]);
    expect(results).toEqual([]);
    commits[0]?.end();
    await turns();
    expect(results).toEqual(["A", "B", "C"]);
  });

  test("fills the next commit while one is under way, and never has two", async () => {
    const { commits, results, add } = heldBatcher();
    add("a");
    await turns();
    add("b");
    await turns();
    add("c");
    await turns();
    expect(commits).toHaveLength(1);
    commits[0]?.end();
    await turns();
    expect(commits.map(({ items }) => items)).toEqual([["a"], ["b", "c"]]);
    commits[1]?.end();
    await turns();
    expect(results).toEqual(["A", "B", "C"]);
  });

  test("puts at most 500 items into one commit", async () => {
    const { commits, results, add } = heldBatcher();
    add(...Array.from({ length: 1_201 }, (_, index) => `i${index}`));
    for (const length of [500, 500, 201]) {
      await turns();
      expect(commits.at(-1)?.items).toHaveLength(length);
      commits.at(-1)?.end();
    }
    await turns();
    expect(commits).toHaveLength(3);
    expect(results).toEqual(Array.from({ length: 1_201 }, (_, index) => `I${index}`));
  });

  test("puts at most 4 MiB into one commit, but a giant item into one of its own", async () => {
    const sizes: Record<string, number> = { a: 3, b: 1, c: 1, giant: 9, d: 1 };
    const { commits, add } = heldBatcher({ sizeOf: (item) => (sizes[item] ?? 0) * 1024 * 1024 });
    add("a", "b", "c", "giant", "d");
    for (let count = 0; count < 4; count += 1) {
      await turns();
      commits.at(-1)?.end();
    }
    expect(commits.map(({ items }) => items)).toEqual([["a", "b"], ["c"], ["giant"], ["d"]]);
  });

  test("gives every item of a commit that threw the result for it, and goes on", async () => {
    const { commits, results, add } = heldBatcher();
    add("a", "b");
    await turns();
    add("c");
    commits[0]?.fail(new Error("the disk is gone"));
    await turns();
    expect(results).toEqual(["failed: Error: the disk is gone", "failed: Error: the disk is gone"]);
    commits[1]?.end();
    await turns();
    expect(results.at(-1)).toBe("C");
  });

  test("takes a commit that throws before it returns like any other failure", async () => {
    const { results, add } = heldBatcher({
      commit: () => {
        throw new Error("no");
      },
    });
    add("a");
    await turns();
    expect(results).toEqual(["failed: Error: no"]);
  });

  test("lets the loop turn before it begins a commit, however fast the ones before were", async () => {
    const order: string[] = [];
    const batcher = createBatcher<string, string>({
      commit: async (items) => (order.push(...items), items),
      sizeOf: () => 0,
      failed: () => "",
    });
    const others = (async () => {
      for (let turn = 0; turn < 3; turn += 1) {
        await turns(1);
        order.push("another's turn");
      }
    })();
    for (const item of ["a", "b", "c"]) await batcher.add(item);
    await others;
    expect(order).toHaveLength(6);
    for (const [first, next] of [
      ["a", "b"],
      ["b", "c"],
    ] as const)
      expect(order.slice(order.indexOf(first), order.indexOf(next))).toContain("another's turn");
  });

  test("is drained when everything that was added has its result, and at once when nothing was", async () => {
    const { batcher, commits, add } = heldBatcher();
    await batcher.drained();
    add("a");
    let drained = false;
    void batcher.drained().then(() => (drained = true));
    await turns();
    add("b");
    commits[0]?.end();
    await turns();
    expect(drained).toBe(false);
    commits[1]?.end();
    await turns();
    expect(drained).toBe(true);
    await batcher.drained();
  });
});
