import { sqliteInbox } from "hookline/sqlite";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ClaimRules } from "../../../src/inbox/port/claims.ts";
import { createLanes } from "../../../adapters/inbox/sqlite/work/lanes.ts";
import { fromLoaded } from "../../../adapters/inbox/sqlite/work/row-encoding.ts";
import { checkPauseOfOther } from "../../support/pauses-of-processes.ts";
import { folderFor } from "./on-disk.ts";

test("a pause of another process holds here, also after it was killed, and after a restart", async () => {
  const file = join(folderFor(), "inbox.db");
  await checkPauseOfOther(file, () => sqliteInbox(file));
});

describe("paused lanes of a full memory", () => {
  const paused = new Set([1]);
  const isPaused = (_: string, account = 0): boolean => paused.has(account);
  const rules = (version: number): ClaimRules => ({
    fairness: "account",
    perAccount: () => Infinity,
    isHeld: isPaused,
    isPaused,
    isPausing: paused.size > 0,
    version,
    resumed: version,
  });

  test("make room for others, wait in the file, and come back in their order when they are resumed", async () => {
    const lanes = createLanes(10);
    const rowOf = (id: number, account: number) =>
      fromLoaded([id, id, 0, "crm", `${account} ${id % 4}`, null, id, null, null, account]);
    const accounts = new Map<number, number>();
    const add = (id: number, account: number): void => {
      accounts.set(id, account);
      lanes.append(rowOf(id, account), 0);
    };
    const take = (version: number): number[] =>
      lanes.take({ max: 4, mergeMax: 1, rules: rules(version) }, 0).map(({ rows }) => rows[0]?.id ?? 0);
    for (let id = 1; id <= 10; id += 1) add(id, 1);
    expect(take(1)).toEqual([]);
    expect(lanes.hasRoom(0)).toBe(true);
    for (let id = 11; id <= 14; id += 1) add(id, 2);
    expect(take(1)).toEqual([11, 12, 13, 14]);
    add(15, 1);
    expect(lanes.nextDueAt(0)).toBeUndefined();
    expect(lanes.stats()).toMatchObject({ pausedWaiting: 11, oldestWaitingAt: undefined, blockedLanes: 0 });
    const read = async (ids: readonly number[]) => ids.map((id) => rowOf(id, accounts.get(id) ?? 0));
    expect(await lanes.bringBack(read, () => 0)).toBe(false);
    paused.clear();
    const seen: number[] = [...take(2)];
    while (await lanes.bringBack(read, () => 0)) seen.push(...take(2));
    // The heads of its lanes: ids of one lane differ by 4.
    expect(seen.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
  });
});
