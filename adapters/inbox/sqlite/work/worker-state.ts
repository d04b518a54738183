import { setImmediate as nextTurn } from "node:timers/promises";
import { StorageError, type Claim, type Delivery, type InboxHost, type NewEvent } from "../../../../src/adapter.ts";
import type { ThreadClient } from "../thread/thread-client.ts";
import { STATE, type LoadedJob, type TextPage } from "../thread/records.ts";
import { toStorageError } from "../connection/to-storage-error.ts";
import type { LoadedWindow } from "../schema/lane-window-table.ts";
import type { Operations } from "../thread/operations.ts";
import { TABLES_OF_ROWS, type RemovedRows, type UnusableRange } from "../thread/unusable-rows.ts";
import { createLanes, type Lanes } from "./lanes.ts";
import { removeUnusable } from "./remove-unusable.ts";
import { fromLoaded, toRow } from "./row-encoding.ts";

/** The state of the active worker in memory. */
export interface WorkerState {
  /** Undefined while this process is not the active worker. */
  readonly epoch: number | undefined;
  /** All that waits is in its lane: events of new deliveries may become jobs. */
  readonly isLoaded: boolean;
  readonly lanes: Lanes;
  /** Takes over, and loads unsettled jobs; ends early if the work is given up meanwhile. */
  takeOver(channel: ThreadClient): Promise<void>;
  /** The file is another one: nothing that memory has is in it. @returns the claims that end with it */
  forget(): readonly Claim[];
  /** After the commit thread was replaced: makes memory follow the file. */
  resume(channel: ThreadClient): Promise<void>;
  /** New jobs of other origins; passed over where another process works. */
  append(jobs: readonly LoadedJob[]): void;
  /** The jobs that a commit made of some events. */
  appendNew(origin: Origin, made: MadeJobs): void;
  /** Another process works: what runs here does not count. @returns the claims that end with it, whose handlers may run on */
  revoke(): readonly Claim[];
  /** This process works no more, and nothing of it runs. */
  leave(): void;
}

interface Origin {
  readonly id: number;
  readonly receivedAt: number;
  /** Undefined: it is not held for its claim. */
  readonly delivery: Delivery | undefined;
}

interface MadeJobs {
  readonly events: readonly NewEvent[];
  /** Of the jobs, as they went into the commit. */
  readonly states: string;
  readonly firstJob: number;
  /** Events of which no jobs were made, by their index. */
  readonly duplicates: readonly number[];
}

interface LoadedRange {
  readonly after: number;
  readonly to: number;
  readonly marked: ReadonlySet<number>;
}

/** Rows read at once: the loop must not stop for a million. */
const PAGE = 1_000;

/** An epoch of this process's own leaps over so many at most. */
const LEAP = 1_000_000;

/** Of the receiver: its clock and its log. */
interface WorkerHost {
  readonly clock: Pick<InboxHost["clock"], "now">;
  readonly log: InboxHost["log"];
}

export interface WorkerStateOptions {
  /** In memory; more wait in the file alone. @default all */
  readonly maxJobs?: number | undefined;
  readonly random?: (() => number) | undefined;
}

export function createWorkerState(
  host: () => WorkerHost,
  { maxJobs, random = Math.random }: WorkerStateOptions = {},
): WorkerState {
  const now = (): number => host().clock.now();
  let epoch: number | undefined;
  /** Epochs of commits that failed, and yet may be in the file. */
  let doubtful: number[] = [];
  let isLoaded = false;
  let isForgotten = false;
  let lanes = createLanes(maxJobs);

  /**
   * Brings in what memory has not, and takes out what waits there alone: a removal, too, may have held unknown.
   * @param range of ids, of which `after` is not; jobs that are marked may be in the file without a row
   */
  function follow(jobs: readonly LoadedJob[], { after, to, marked }: LoadedRange): void {
    const at = now();
    const gone = new Set(lanes.unclaimedIn(after, to).filter((id) => !marked.has(id)));
    for (const job of jobs) {
      gone.delete(job[0]);
      if (!lanes.has(job[0])) lanes.append(fromLoaded(job), at);
    }
    lanes.remove(gone, at);
  }

  async function load(channel: ThreadClient, marked: ReadonlySet<number> = new Set()): Promise<void> {
    const mine = lanes;
    mine.beginLoad();
    let after = 0;
    for await (const [jobs, last] of pages<LoadedJob>(channel, "openJobs")) {
      if (lanes !== mine) return;
      follow(jobs, { after, to: last, marked });
      after = last;
    }
    if (lanes !== mine) return;
    follow([], { after, to: Infinity, marked });
    for await (const [windows] of pages<LoadedWindow>(channel, "windows"))
      for (const [lane, since, upTo] of windows) mine.setWindow(lane, { since, upTo });
    if (lanes !== mine) return;
    mine.endLoad();
    isLoaded = true;
  }

  async function begin(channel: ThreadClient): Promise<void> {
    const mine = lanes;
    const taken = await run(channel, "takeOver", undefined);
    if (lanes !== mine) return;
    [epoch, isForgotten, doubtful] = [taken.epoch, false, []];
    if (taken.isDamaged) await clean(channel);
    await loadReadable(channel);
  }

  /** Where a row of a page cannot be read, without it. */
  async function loadReadable(channel: ThreadClient, marked?: ReadonlySet<number>): Promise<void> {
    const mine = lanes;
    try {
      await load(channel, marked);
    } catch (error) {
      if (lanes !== mine || (error as StorageError).code !== "storage-failed") throw error;
      await clean(channel);
      await load(channel, marked);
    }
  }

  /** Rows were lost: others may refer to them. */
  async function clean(channel: ThreadClient): Promise<void> {
    const mine = lanes;
    const step = (range: UnusableRange): Promise<RemovedRows> =>
      lanes === mine ? run(channel, "removeUnusable", range) : Promise.resolve({ rows: [], next: undefined });
    for (const from of TABLES_OF_ROWS) await removeUnusable({ from, after: 0 }, { step, log: host().log });
  }

  return {
    get epoch() {
      return epoch;
    },
    get isLoaded() {
      return isLoaded;
    },
    get lanes() {
      return lanes;
    },
    async takeOver(channel) {
      lanes = lanes.nextTenure();
      isLoaded = false;
      await begin(channel);
    },
    forget() {
      if (epoch === undefined) return [];
      const ended = lanes.revoke();
      [isLoaded, isForgotten, lanes] = [false, true, lanes.nextTenure()];
      return ended;
    },
    async resume(channel) {
      if (epoch === undefined) return;
      if (isForgotten) return begin(channel);
      const mine = lanes;
      const epochs = [epoch, ...doubtful];
      // Another process that takes over raises it by one: by the leap this process knows its own, also where a commit failed and yet holds.
      const next = Math.max(...epochs) + 2 + Math.floor(random() * LEAP);
      doubtful = [...doubtful, next];
      const resumed = await run(channel, "resume", { epochs, next, running: lanes.running() });
      if (lanes !== mine) return;
      ({ epoch } = resumed);
      doubtful = [];
      // What was about to be claimed may wait again by now.
      await loadReadable(channel, new Set(resumed.marked));
    },
    append(jobs) {
      if (isLoaded) for (const job of jobs) lanes.append(fromLoaded(job), now());
    },
    appendNew({ id: delivery, receivedAt, delivery: whole }, { events, states, firstJob, duplicates }) {
      if (!isLoaded) return; // what is being loaded comes with it, in its order
      const at = now();
      const hold = whole === undefined ? undefined : lanes.hold(whole, events.length);
      let place = 0;
      for (const [index, { entry, event, jobs }] of events.entries()) {
        const isDuplicate = duplicates.includes(index);
        for (const job of jobs) {
          const [id, state] = [firstJob + place, states[place]];
          place += 1;
          if (isDuplicate || job.state !== "waiting") continue;
          const held = hold === undefined ? undefined : { hold, event };
          const origin = { id, delivery, entry, account: event.accountId, receivedAt, held };
          lanes.append(toRow(job, { ...origin, isMarked: state === STATE.fresh }), at);
        }
      }
    },
    revoke() {
      const ended = lanes.revoke();
      [epoch, isLoaded, lanes] = [undefined, false, lanes.nextTenure()];
      return ended;
    },
    leave() {
      [epoch, isLoaded, lanes] = [undefined, false, lanes.nextTenure()];
    },
  };
}

/** By itself, before or beside the commits of all others. */
async function run<V extends keyof Operations>(
  channel: ThreadClient,
  verb: V,
  input: unknown,
): Promise<ReturnType<Operations[V]>> {
  const [result] = await channel.run({ epoch: undefined, tasks: [{ verb, input }], bytes: new Uint8Array(0) });
  if (result === undefined) throw new StorageError("storage-failed", "The commit thread gave no result.");
  if ("error" in result) throw toStorageError(result.error);
  return result.value as ReturnType<Operations[V]>;
}

/** Rows in the order of their ids, a page at a time, with the id of the last one. */
async function* pages<T>(
  channel: ThreadClient,
  verb: "openJobs" | "windows",
): AsyncGenerator<[rows: T[], last: number]> {
  const read = (after: number): Promise<TextPage> => run(channel, verb, { after, limit: PAGE });
  let page = await read(0);
  while (page.last !== null) {
    // Read while this one is put into the lanes; and then the loop gets its turn, though the answer may be there.
    const next = read(page.last);
    next.catch(() => {}); // where nobody wants it any more
    yield [JSON.parse(page.rows) as T[], page.last];
    [page] = await Promise.all([next, nextTurn()]);
  }
}
