import { kindOf } from "../assert.ts";
import { ERASED_REASON } from "./port/jobs.ts";
import { catchRejection } from "../thrown.ts";
import type { Pause, Paused, Pauses } from "./port/pauses.ts";
import type { Owner } from "./turns.ts";

/** Pauses as they are stored: JSON by key. */
export interface StoredPauses {
  read(): Promise<readonly string[]>;
  /** Undefined removes it. Others that ended before a time are removed as well. @returns whether there was one */
  write(key: string, pause: string | undefined, endedBefore: number): Promise<boolean>;
  /** Waiting jobs by account and consumer, as far as it is one of these: one list for however many pauses, of any number of parts. */
  waitingJobs(accounts: readonly number[], consumers: readonly string[]): Promise<readonly WaitingJobs[]>;
}

/** Jobs of an account and a consumer; null for any that was not asked for. */
export interface WaitingJobs {
  readonly account: number | null;
  readonly consumer: string | null;
  readonly jobs: number;
}

/** Pauses of a storage, known in memory. */
export interface KnownPauses extends Pauses {
  /** Reads changes of other processes. @returns whether there were any */
  refresh(): Promise<boolean>;
  /** By the list of now. */
  isPaused(owner: Owner): boolean;
}

/** A clock that leaps for a moment is to lose no pause, milliseconds. */
const KEEP_ENDED_MS = 60 * 60 * 1_000;

export function createPauses(stored: StoredPauses, now: () => number): KnownPauses {
  /** As it was read: what has ended holds again where the clock goes back. */
  let all: readonly Pause[] = [];
  let held = heldAt(all, 0);
  let text = "";
  let known: { readonly of: readonly Pause[]; readonly isPaused: (owner: Owner) => boolean } | undefined;

  /** Looks may overtake each other: the one that began last is the newest. */
  let [begun, seen] = [0, 0];

  async function refresh(): Promise<boolean> {
    const mine = (begun += 1);
    const read = (await stored.read()).toSorted();
    if (mine < seen) return false;
    seen = mine;
    if (read.join() === text) return false;
    text = read.join();
    all = read.flatMap(parsePause);
    held = heldAt(all, 0);
    return true;
  }

  function current(): readonly Pause[] {
    const time = all.length === 0 ? 0 : now(); // an inbox that is not open yet has no clock
    if (time < held.from || time >= held.to) held = heldAt(all, time);
    return held.list;
  }

  return {
    refresh,
    current,
    isPaused(owner) {
      const list = current();
      if (list.length === 0) return false;
      if (known?.of !== list) known = { of: list, isPaused: pausedBy(list) };
      return known.isPaused(owner);
    },
    async put(pause) {
      await stored.write(keyOf(pause), JSON.stringify(pause), now() - KEEP_ENDED_MS);
      await refresh();
    },
    async remove(what) {
      const isRunning = current().some((one) => keyOf(one) === keyOf(what));
      const wasThere = await stored.write(keyOf(what), undefined, now() - KEEP_ENDED_MS);
      await refresh();
      return wasThere && isRunning;
    },
    async waiting(given) {
      if (given.length === 0) return [];
      const counts = new Map<string, number>();
      const accounts = given.flatMap(({ accountId = [] }) => accountId);
      const consumers = given.flatMap(({ consumer = [] }) => consumer);
      for (const { account, consumer, jobs } of await stored.waitingJobs(accounts, consumers))
        for (const key of new Set([toKey(account, consumer), toKey(account, null), toKey(null, consumer)]))
          counts.set(key, (counts.get(key) ?? 0) + jobs);
      return given.map((one) => counts.get(keyOf(one)) ?? 0);
    },
  };
}

const NONE: readonly unknown[] = [];

/** Those of an inbox of anyone's making, each of them to be given to {@link toPause}. @throws TypeError where it gives no list */
export function listOf(pauses: Pick<Pauses, "current"> | undefined): readonly unknown[] {
  const list: unknown = pauses === undefined ? NONE : pauses.current();
  if (Array.isArray(list)) return list;
  catchRejection(list);
  throw new TypeError(`\`pauses.current()\` of the inbox gave ${kindOf(list)}, expected a list at once.`);
}

/** Those that have not ended at a time, and between which times that is the list. */
function heldAt(
  all: readonly Pause[],
  time: number,
): { readonly list: readonly Pause[]; readonly from: number; readonly to: number } {
  let [from, to] = [-Infinity, Infinity];
  const list = all.filter(({ until = Infinity }) => {
    if (until > time) to = Math.min(to, until);
    else from = Math.max(from, until);
    return until > time;
  });
  return { list, from, to };
}

function parsePause(text: string): readonly Pause[] {
  try {
    return toPause(JSON.parse(text));
  } catch {
    return [];
  }
}

/** None where it is no pause. What is stored may have been damaged: it must not keep what is not paused from starting. */
export function toPause(given: unknown): readonly Pause[] {
  try {
    const { consumer, accountId, reason, since, until } = given as Partial<Record<keyof Pause, unknown>>;
    if (consumer !== undefined && typeof consumer !== "string") return [];
    if (accountId !== undefined && typeof accountId !== "number") return [];
    if (consumer === undefined && accountId === undefined) return [];
    if (!isTime(since) || (until !== undefined && !isTime(until))) return [];
    return [{ consumer, accountId, reason: String(reason), since, until }];
  } catch {
    return [];
  }
}

/** The stored pause without what a person wrote; undefined where it is not of this account, or says nothing any more. */
export function withoutReason(text: string, accountId: number): string | undefined {
  try {
    const pause = JSON.parse(text) as Pause;
    if (pause.accountId !== accountId || pause.reason === ERASED_REASON) return undefined;
    return JSON.stringify({ ...pause, reason: ERASED_REASON });
  } catch {
    return undefined; // it was damaged, and holds nothing
  }
}

/** Milliseconds since the epoch that a `Date` can have. */
function isTime(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(new Date(value).getTime());
}

const keyOf = ({ consumer, accountId }: Paused): string => toKey(accountId ?? null, consumer ?? null);

const toKey = (account: number | null, consumer: string | null): string => JSON.stringify([account, consumer]);

/** Whether jobs are paused by one of these; the cost does not grow with their number. */
export function pausedBy(pauses: readonly Pause[]): (owner: Owner) => boolean {
  const [consumers, accounts, both] = [new Set<unknown>(), new Set<unknown>(), new Set<string>()];
  for (const { consumer, accountId } of pauses) {
    if (accountId === undefined) consumers.add(consumer);
    else if (consumer === undefined) accounts.add(accountId);
    else both.add(`${accountId} ${consumer}`);
  }
  return ({ consumer, account }) =>
    (consumers.size > 0 && consumers.has(consumer)) ||
    (accounts.size > 0 && accounts.has(account)) ||
    (both.size > 0 && both.has(`${account} ${consumer}`));
}

interface PausedCount {
  readonly pausedWaiting: number;
  readonly oldestWaitingAt: number | undefined;
}

/** So few rows are counted each time. */
const FEW = 10_000;
/** A count of more holds for a millisecond for each so many of them, which is some fifty times as long as it took. */
const ROWS_A_MS = 1_000;

/** @returns counts waiting jobs: how many a pause holds, and when the oldest of the others was received. It may be asked at each claim. */
export function createPausedCount(): (
  rows: Iterable<Owner & { readonly receivedAt: number }>,
  isPaused: (owner: Owner) => boolean,
) => PausedCount {
  let last: PausedCount | undefined;
  let until = -Infinity;

  return (rows, isPaused) => {
    if (last !== undefined && performance.now() < until) return last;
    let [all, pausedWaiting, oldest] = [0, 0, Infinity];
    for (const row of rows) {
      all += 1;
      if (isPaused(row)) pausedWaiting += 1;
      else oldest = Math.min(oldest, row.receivedAt);
    }
    until = all < FEW ? -Infinity : performance.now() + all / ROWS_A_MS;
    return (last = { pausedWaiting, oldestWaitingAt: oldest === Infinity ? undefined : oldest });
  };
}
