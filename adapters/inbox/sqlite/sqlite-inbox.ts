import { StorageError, type InboxHost, type WorkingInbox } from "../../../src/adapter.ts";
import { forOneReceiver } from "../../../src/inbox/one-receiver.ts";
import { createPauses } from "../../../src/inbox/pauses.ts";
import { createFileJobs } from "./jobs/admin.ts";
import { createAdminRequestRunner } from "./jobs/run-requests.ts";
import { createCommitQueue } from "./store/commit-queue.ts";
import { createFileGaps } from "./upkeep/gaps.ts";
import { createOldestUnpaused } from "./upkeep/oldest-unpaused.ts";
import { countWaitingJobs } from "./upkeep/waiting-jobs.ts";
import { createFileSubscriptions } from "./upkeep/subscriptions.ts";
import { openThread } from "./thread/thread-client.ts";
import { createThreadSupervisor, type ThreadSupervisorOptions } from "./thread/thread-supervisor.ts";
import { createTombstones } from "./upkeep/tombstones.ts";
import { assertSinglePath, realPathOf } from "./connection/file-path.ts";
import { createFreeDisk, type FreeDiskOptions } from "./connection/disk-shortage.ts";
import { createWalWatch } from "./connection/wal.ts";
import { createFileRetention, type KeepBodies } from "./upkeep/retention.ts";
import { createClaims } from "./work/claim-jobs.ts";
import { createIncoming } from "./work/incoming-deliveries.ts";
import { createTakeOver, toNotBegun } from "./work/take-over.ts";
import { isLocked } from "./work/worker-lock.ts";
import { createWorkerState } from "./work/worker-state.ts";

/** Options without the defaults of `sqliteInbox`. */
export interface SqliteOptions {
  readonly file: string;
  /** Nothing is written, so the checks of its place are left out. @default false */
  readonly isReadOnly?: boolean | undefined;
  /** Done and skipped jobs, milliseconds since they were received. @default for ever */
  readonly keepDoneMs?: number | undefined;
  /** @default for ever */
  readonly keepUnhandledMs?: number | undefined;
  /** Dead letters, milliseconds since they were settled. @default for ever */
  readonly keepDeadMs?: number | undefined;
  /** @default "retention" */
  readonly keepBodies?: KeepBodies | undefined;
  /** 0: whatever there is. @default 0 */
  readonly minFreeDiskBytes?: number | undefined;
  /** In memory, and four times as many that wait for their time; beyond it deliveries wait unexpanded in the file. @default all */
  readonly maxJobs?: number | undefined;
  /** The commit thread's program. @default beside this file */
  readonly threadUrl?: URL | undefined;
  /** @default a thread that owns the file */
  readonly openThread?: ThreadSupervisorOptions["openThread"] | undefined;
  /** By which a thread that hangs is known. @default the machine's */
  readonly setTimer?: ThreadSupervisorOptions["setTimer"];
  /** @default what statfs says */
  readonly freeBytesIn?: FreeDiskOptions["freeBytesIn"];
}

/** So long a process that takes over carries out replays before it begins, milliseconds. */
const REPLAYS_FIRST_MS = 5_000;

/** The port on an SQLite file: SQL is the truth, lanes are in the memory of the process that works. */
export function createSqliteInbox(options: SqliteOptions): WorkingInbox<"disk"> {
  const { file, isReadOnly = false, threadUrl, setTimer, freeBytesIn } = options;
  const { keepDoneMs = Infinity, keepUnhandledMs = Infinity, keepDeadMs = Infinity } = options;
  const { minFreeDiskBytes = 0, maxJobs, keepBodies = "retention" } = options;
  let host: InboxHost | undefined;
  let isOpen = false;
  const now = (): number => openHost().clock.now();
  let hasMoved = false;
  const workerState = createWorkerState(openHost, { maxJobs });
  const thread = createThreadSupervisor({
    locate: () => realPathOf(file),
    assertPlace: async (path) => (isReadOnly ? undefined : assertSinglePath(path)),
    openThread: options.openThread ?? ((given, events) => openThread({ ...given, threadUrl }, events)),
    setTimer,
    async resume(channel) {
      try {
        await workerState.resume(channel);
      } catch (error) {
        if ((error as Partial<StorageError>).code !== "epoch-stale") throw error;
        takeOver.fenced();
      }
    },
    replaced() {
      tombstones.replaced();
      const ended = workerState.forget();
      if (ended.length > 0) takeOver.worker?.lost(ended);
      if (workerState.epoch === undefined) return;
      hasMoved = true;
      takeOver.worker?.end();
    },
    changed() {
      if (hasMoved && workerState.isLoaded) {
        hasMoved = false;
        takeOver.worker?.begin();
      }
      requests.changed();
      const isRead = thread.counts().tombstones === tombstones.version ? Promise.resolve() : tombstones.refresh();
      void Promise.allSettled([isRead, pauses.refresh()]).then(() => takeOver.worker?.wake());
    },
  });
  const commits = createCommitQueue({
    channel: thread.channel,
    workerState,
    fenced: () => takeOver.fenced(),
    distrust: thread.distrust,
  });
  const subscriptions = createFileSubscriptions(commits);
  const tombstones = createTombstones(commits, {
    now,
    lastLook: () => (thread.failure() === undefined ? thread.channel().lastLook() : undefined),
  });
  const pauses = createPauses(
    {
      read: () => commits.add("pauses", undefined),
      write: (key, value, endedBefore) => commits.add("putPause", { key, value, endedBefore }),
      waitingJobs: (accounts, consumers) => countWaitingJobs(commits, { accounts, consumers }),
    },
    now,
  );
  const oldestUnpaused = createOldestUnpaused(commits, now);
  const disk = createFreeDisk({ file: thread.file, leastBytes: minFreeDiskBytes, now, freeBytesIn });
  const requests = createAdminRequestRunner({
    file: thread.file,
    commits,
    host: openHost,
    workerState,
    worker: () => takeOver.worker,
    isOpen: () => isOpen,
  });
  const retention = createFileRetention({
    commits,
    host: openHost,
    works: () => workerState.epoch !== undefined,
    watch: createWalWatch(thread.file, () => openHost().log),
    keepDoneMs,
    keepUnhandledMs,
    keepDeadMs,
    keepBodies,
  });

  /** A drop or an erasure that was asked for before holds for all that is to run. A long replay alone goes on beside the handlers. */
  async function serveFirst(): Promise<void> {
    let isServed = false;
    const served = requests.serve().then(() => void (isServed = true));
    do {
      const late = Promise.withResolvers<void>();
      const timer = openHost().clock.setTimer(late.resolve, REPLAYS_FIRST_MS);
      await Promise.race([served, late.promise]);
      timer.clear();
    } while (!isServed && (await commits.add("hasRemovals", undefined)));
  }

  const takeOver = createTakeOver({
    file: thread.file,
    host: openHost,
    async takeOver() {
      await workerState.takeOver(thread.channel());
      await serveFirst();
    },
    began: retention.begin,
    lose() {
      retention.end();
      const lost = workerState.revoke();
      commits.rejectWorkerTasks();
      return lost;
    },
    left() {
      retention.end();
      workerState.leave();
    },
  });

  function openHost(): InboxHost {
    if (host === undefined) throw new StorageError("storage-failed", "The inbox is not open.");
    return host;
  }

  const openAndClose = forOneReceiver({
    name: "SQLite inbox",
    make: "sqliteInbox(file)",
    async open(given) {
      host = given;
      isOpen = true;
      try {
        await thread.open(given);
        await Promise.all([tombstones.refresh(), subscriptions.refresh(), pauses.refresh(), disk.look()]);
      } catch (error) {
        isOpen = false;
        await thread.close().catch(() => {});
        throw toNotBegun(error, "the inbox was not opened");
      }
    },
    async close() {
      isOpen = false;
      retention.end();
      requests.stop();
      await commits.drained();
      await takeOver.release();
      await thread.close();
    },
  });

  const inbox: WorkingInbox<"disk"> = {
    storage: "disk",
    ...openAndClose,
    tombstones,
    subscriptions,
    ready() {
      const error = thread.failure() ?? disk.shortage();
      return error === undefined ? { ready: true } : { ready: false, error, hopeless: thread.isHopeless() };
    },
    unref: thread.unref,

    work: takeOver.work,
    ...createIncoming({
      commits,
      workerState,
      host: openHost,
      shortage: disk.shortage,
      noted: () => void subscriptions.errored(), // refreshes the cache
    }),
    ...createClaims({ commits, workerState, host: openHost, wake: () => takeOver.worker?.wake() }),
    jobs: createFileJobs({
      commits,
      requests,
      refreshPauses: pauses.refresh,
      log: () => openHost().log,
      isOpen: () => isOpen,
    }),
    keyValues: {
      get: (key) => commits.add("keyValue", key),
      set: (key, value, account) => commits.add("putKeyValue", { key, value: value ?? null, account: account ?? null }),
    },
    gaps: createFileGaps(commits),
    pauses,
    stats() {
      const { oldestUnexpandedAt, oldestOpenAt, tombstones: _, ...counts } = thread.counts();
      const paused = pauses.current();
      const isPausing = oldestOpenAt !== undefined && paused.length > 0;
      const here = workerState.isLoaded
        ? workerState.lanes.stats()
        : { blockedLanes: 0, oldestWaitingAt: isPausing ? oldestUnpaused(paused) : oldestOpenAt, fill: 0 };
      const oldest = Math.min(oldestUnexpandedAt ?? Infinity, here.oldestWaitingAt ?? Infinity);
      const oldestWaitingAt = oldest === Infinity ? undefined : oldest;
      const { worker, takenOver } = takeOver;
      // A worker or standby knows; a process that only receives has to look.
      const isWorkedOn = worker === undefined && oldest !== Infinity ? isLocked(`${thread.file()}-lock`) : undefined;
      return {
        ...counts,
        ...here,
        oldestWaitingAt,
        isFull: (here.fill ?? 0) >= 1 && counts.unexpanded > 0,
        isWorkedOn,
        standstill: counts.unexpanded + counts.waiting + counts.running > 0 ? takeOver.standstill() : undefined,
        disk: {
          freeBytes: disk.bytes(),
          hardLinks: disk.hardLinks(),
          reopened: thread.reopened(),
          takenOver,
          hasUnstableInodes: thread.hasUnstableInodes(),
        },
      };
    },
    capabilities: { durability: "fsync", order: "strict", shared: true, workers: "one" },
  };
  return inbox;
}
