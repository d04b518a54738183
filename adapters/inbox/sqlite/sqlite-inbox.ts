import {
  StorageError,
  type Inbox,
  type InboxHost,
  type Kept,
  type NewDelivery,
  type Worker,
  type WorkingInbox,
} from "../../../src/adapter.ts";
import { openChannel as openThread } from "./channel.ts";
import { createClaims } from "./claims.ts";
import { createCommits } from "./commits.ts";
import { createLink, type LinkOptions } from "./link.ts";
import { createOwned } from "./owned.ts";
import { toDelivery, toDeliveryRecord, toEventRecord } from "./records.ts";
import { sqliteJobs } from "./sqlite-jobs.ts";
import { createTombstones } from "./tombstones.ts";
import { createWorkerPlace, type WorkerPlace } from "./worker-place.ts";

/** How an inbox in a file is made. */
export interface SqliteOptions {
  readonly file: string;
  /** Done and skipped jobs, milliseconds since they were received. @default 7 days */
  readonly keepDoneMs?: number;
  /** @default 7 days */
  readonly keepUnhandledMs?: number;
  /** 0: whatever there is. @default 0 */
  readonly minFreeDiskBytes?: number;
  /** Waiting in memory; beyond it deliveries wait unexpanded in the file. */
  readonly maxJobs: number;
  /** @default a thread that owns the file */
  readonly openChannel?: LinkOptions["openChannel"];
}

/** Between two tries to take the work over. */
const AGAIN_MS = 1_000;

/** The port on an SQLite file: SQL is the truth, lanes are in the memory of the process that works. */
export function createSqliteInbox({ file, maxJobs, openChannel = openThread }: SqliteOptions): WorkingInbox<"disk"> {
  let host: InboxHost | undefined;
  let worker: Worker | undefined;
  let place: WorkerPlace | undefined;
  const now = (): number => theHost().clock.now();
  const owned = createOwned(now);
  const link = createLink({
    file,
    openChannel,
    resume: (channel) => owned.resume(channel),
    changed: () =>
      void tombstones
        .refresh()
        .catch(() => {})
        .then(() => worker?.wake()),
  });
  const commits = createCommits({
    channel: link.channel,
    epoch: () => owned.epoch,
    mark: () => (owned.epoch === undefined ? undefined : owned.lanes.mark()),
    failed: () => owned.lanes.unmark(),
    doubt: link.doubt,
  });
  const tombstones = createTombstones(commits, now);

  function theHost(): InboxHost {
    if (host === undefined) throw new StorageError("storage-failed", "The inbox is not open.");
    return host;
  }

  async function begin(): Promise<void> {
    const given = worker;
    await owned.takeOver(link.channel());
    if (worker === given) given?.begin();
  }

  /** Nobody waits for it: it is tried until it holds, or the inbox is closed. */
  async function beginLater(): Promise<void> {
    const given = worker;
    try {
      await begin();
    } catch (error) {
      if (given === undefined || worker !== given) return;
      const { log, clock } = theHost();
      log.error({ err: error, code: "take-over-failed" }, "the work could not be taken over: it is tried again");
      clock.setTimer(() => void beginLater(), AGAIN_MS);
    }
  }

  async function keep({ delivery, events }: NewDelivery): Promise<Kept | StorageError> {
    const wanted = owned.isLoaded && owned.lanes.size < maxJobs ? events : undefined;
    const record = { delivery: toDeliveryRecord(delivery), events: wanted?.map(toEventRecord), at: now() };
    try {
      const made = await commits.add("keep", record, delivery.body);
      const { id, expanded, duplicates, conflicts } = made;
      if (expanded) owned.appendMade({ id, receivedAt: delivery.receivedAt, delivery }, wanted ?? [], made);
      return { id: String(id), expanded, duplicates, conflicts };
    } catch (error) {
      if (error instanceof StorageError) return error;
      return new StorageError("storage-failed", String(error), { cause: error });
    }
  }

  const inbox: WorkingInbox<"disk"> = {
    keeps: "disk",
    async open(given) {
      host = given;
      await link.open(given);
      await tombstones.refresh();
    },
    keep: (deliveries) => Promise.all(deliveries.map(keep)),
    tombstones,
    ready() {
      const error = link.failure();
      return error === undefined ? { ready: true } : { ready: false, error };
    },
    async close() {
      await commits.drained();
      place?.leave();
      worker = undefined;
      owned.leave();
      await link.close();
    },

    async work(given) {
      worker = given;
      place ??= createWorkerPlace(file, theHost().clock);
      if (place.ask(() => void beginLater())) await begin();
    },
    async unexpanded(max) {
      if (owned.lanes.size >= maxJobs) return [];
      const rows = await commits.add("unexpanded", max);
      return rows.map(({ cursor, ...row }) => ({ id: String(row.id), delivery: toDelivery(row), cursor }));
    },
    expand: (expansions) =>
      Promise.all(
        expansions.map(async ({ id, events, cursor }) => {
          const record = { id: Number(id), events: events.map(toEventRecord), cursor, at: now() };
          const made = Number.isSafeInteger(record.id) ? await commits.add("expand", record) : undefined;
          if (made === undefined) return { duplicates: [], conflicts: [] };
          owned.appendMade({ id: record.id, receivedAt: made.receivedAt, delivery: undefined }, events, made);
          return { duplicates: made.duplicates, conflicts: made.conflicts };
        }),
      ),
    ...createClaims({ commits, owned, now }),
    jobs: sqliteJobs({
      commits,
      made(rows) {
        owned.append(rows);
        if (rows.length > 0) worker?.wake();
      },
      gone(ids) {
        const ended = owned.lanes.remove(new Set(ids), now());
        if (ended.length > 0) worker?.lost(ended);
        worker?.wake();
      },
    }),
    stats() {
      const { oldestUnexpandedAt, oldestUnsettledAt, ...counts } = link.counts();
      const here = owned.isLoaded ? owned.lanes.stats() : { blockedLanes: 0, oldestWaitingAt: oldestUnsettledAt };
      const oldest = Math.min(oldestUnexpandedAt ?? Infinity, here.oldestWaitingAt ?? Infinity);
      return { ...counts, ...here, oldestWaitingAt: oldest === Infinity ? undefined : oldest };
    },
    capabilities: { durability: "fsync", order: "strict", shared: true },
  };
  crashes.set(inbox, () => {
    link.abandon();
    place?.leave();
    worker = undefined;
    owned.leave();
  });
  return inbox;
}

const crashes = new WeakMap<Inbox, () => void>();

/** Leaves a file as if the process that worked on it had died. For simulations. */
export function crashSqliteInbox(inbox: Inbox): void {
  crashes.get(inbox)?.();
}
