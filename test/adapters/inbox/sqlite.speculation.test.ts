import { describe, expect, test } from "vitest";
import { fromLoaded, type Row } from "../../../adapters/inbox/sqlite/work/row-encoding.ts";
import {
  createSpeculativeClaims,
  type SpeculativeClaims,
} from "../../../adapters/inbox/sqlite/work/speculative-claims.ts";
import { FRESH, type NewJob } from "../../../src/adapter.ts";

/** A job that its commit has marked. */
function marked(id: number): Row {
  return Object.assign(fromLoaded([id, 1, 0, "default", null, null, 1, null, null]), { isMarked: true });
}

function claims(ahead: number | undefined): SpeculativeClaims {
  const made = createSpeculativeClaims();
  made.follow(ahead === undefined ? undefined : () => ahead);
  return made;
}

const job = (lane?: string, state: NewJob["state"] = "waiting"): NewJob => ({
  state,
  consumer: "default",
  lane,
  mergeKey: undefined,
});

const idsOf = (rows: readonly Row[]): readonly number[] => rows.map(({ id }) => id);

describe("a job is marked with the commit that makes it", () => {
  test("as long as there is room, which is asked for once a commit", () => {
    const two = claims(2);
    expect([job(), job(), job()].map(two.speculate)).toEqual([true, true, false]);
    two.takeBackUnclaimed();
    expect(two.speculate(job())).toBe(true);
    expect(claims(undefined).speculate(job())).toBe(false);
    expect(claims(0).speculate(job())).toBe(false);
  });

  test("if it waits for no other one of its lane in that commit, and needs a handler", () => {
    const some = claims(9);
    const jobs = [job("a"), job("a"), job("b"), job(), job(), job("c", "skipped"), job("d", "unhandled")];
    expect(jobs.map(some.speculate)).toEqual([true, false, true, true, true, false, false]);
    some.takeBackUnclaimed();
    expect(some.speculate(job("a"))).toBe(true);
  });

  test("if those of earlier commits leave room, that nobody has claimed yet", () => {
    const some = claims(3);
    const [one, other, claimed] = [marked(1), marked(2), marked(3)];
    claimed.progress = { ...FRESH, state: "running" };
    for (const row of [one, claimed]) some.add(row);
    some.takeBackUnclaimed();
    some.add(other);
    expect([job(), job()].map(some.speculate)).toEqual([true, false]);
  });
});

describe("a mark that nobody claims", () => {
  test("is taken back by the commit after the next one, not before", () => {
    const some = claims(9);
    const [row, claimed, unmarked] = [marked(1), marked(2), marked(3)];
    for (const each of [row, claimed, unmarked]) some.add(each);
    expect([some.isOpen, some.takeBackUnclaimed()]).toEqual([true, []]);
    expect([some.isOpen, row.isMarked]).toEqual([true, true]);
    claimed.progress = { ...FRESH, state: "running" };
    unmarked.isMarked = false;
    expect(idsOf(some.takeBackUnclaimed())).toEqual([1]);
    expect([some.isOpen, row.isMarked, claimed.isMarked]).toEqual([false, false, true]);
    expect(some.takeBackUnclaimed()).toEqual([]);
  });

  test("is believed no more where that commit fails, and is taken back once more", () => {
    const some = claims(9);
    const [waiting, running, ended] = [marked(1), marked(2), marked(3)];
    for (const each of [waiting, running, ended]) some.add(each);
    some.takeBackUnclaimed();
    some.takeBackUnclaimed();
    running.progress = { ...FRESH, state: "running" };
    ended.progress = { ...FRESH, state: "done" };
    some.failed();
    // The commit may hold all the same: each claim needs another one.
    expect([waiting, running, ended].map(({ isMarked }) => isMarked)).toEqual([false, false, false]);
    expect(some.isOpen).toBe(true);
    some.failed();
    expect(idsOf(some.takeBackUnclaimed())).toEqual([1]);
    expect([some.isOpen, some.takeBackUnclaimed()]).toEqual([false, []]);
    running.progress = FRESH;
    expect([some.isOpen, idsOf(some.takeBackUnclaimed())]).toEqual([true, [2]]);
  });

  test("is taken back once more where its claim fails after the file was read anew", () => {
    const some = claims(9);
    const [waiting, running] = [marked(1), marked(2)];
    for (const each of [waiting, running]) some.add(each);
    some.takeBackUnclaimed();
    some.takeBackUnclaimed();
    running.progress = { ...FRESH, state: "running" };
    some.clear();
    running.progress = FRESH;
    expect(idsOf(some.takeBackUnclaimed())).toEqual([2]);
  });

  test("is gone where the file was read anew, which marks none", () => {
    const some = claims(9);
    const [older, fresh, taken] = [marked(1), marked(2), marked(3)];
    some.add(taken);
    some.takeBackUnclaimed();
    some.takeBackUnclaimed();
    some.add(older);
    some.takeBackUnclaimed();
    some.add(fresh);
    some.clear();
    expect([older, fresh].map(({ isMarked }) => isMarked)).toEqual([false, false]);
    older.isMarked = fresh.isMarked = true;
    some.failed();
    expect(some.isOpen).toBe(false);
    expect([some.takeBackUnclaimed(), some.takeBackUnclaimed()]).toEqual([[], []]);
  });
});
