import { StorageError, type Clock, type InboxDisk, type InboxHost } from "../../../../src/adapter.ts";
import type { Counts } from "../thread/counters.ts";
import type { Operations } from "../thread/operations.ts";
import type { Batch, TaskResult } from "../thread/transaction.ts";
import { createReopenBackoff } from "./reopen-backoff.ts";
import type { ThreadClient, ThreadEvents } from "./thread-client.ts";
import type { ThreadOptions } from "./thread-protocol.ts";
import { toStorageError } from "./to-storage-error.ts";
import { LOOKING_MS, realTimer, SILENT_MS, unlessHung, watchedChannel } from "./watchdog.ts";

/** Runs a commit thread for the file, and replaces one that dies or hangs. */
export interface ThreadSupervisor {
  /** @throws StorageError with the thread's reason */
  open(host: InboxHost): Promise<void>;
  /** Where the file really is. @throws StorageError while it was never open */
  file(): string;
  /** @throws StorageError while there is none */
  channel(): ThreadClient;
  /** Why nothing can be stored, or could not a moment ago; undefined while all is well. */
  failure(): StorageError | undefined;
  /** Threads end as soon as they have begun: only another process can help. */
  isHopeless(): boolean;
  reopened(): InboxDisk["reopened"];
  /** The file system has no stable inode numbers: a replaced file cannot be detected. */
  hasUnstableInodes(): boolean;
  /** How much there is in the file. */
  counts(): Counts;
  /** A commit's outcome is unknown: reopens the file. */
  distrust(error: StorageError): void;
  /** The process may end from now on, but for what is under way. */
  unref(): void;
  close(): Promise<void>;
}

export interface ThreadSupervisorOptions extends Pick<ThreadsOptions, "openThread"> {
  /** Finds the file, once for all threads until it is closed. */
  readonly locate: () => Promise<string>;
  /** Rejects where it cannot be worked on: asked before it is opened, and again where it was replaced. */
  readonly assertPlace: (file: string) => Promise<void>;
  /** Synchronises memory with the file, on a new thread that is not in use yet. */
  readonly resume: (channel: ThreadClient) => Promise<void>;
  /** Another file is at the path, or will be: nothing of what memory has is in it. */
  readonly replaced: () => void;
  /** Another process has committed, or there is a channel again. */
  readonly changed: () => void;
  /** By which a thread that hangs is known. @default the machine's, whatever the host's clock says */
  readonly setTimer?: Clock["setTimer"] | undefined;
}

export function createThreadSupervisor(options: ThreadSupervisorOptions): ThreadSupervisor {
  const { locate, assertPlace, openThread, resume, replaced, changed, setTimer = realTimer } = options;
  const notOpen = new StorageError("storage-failed", "The inbox is not open.");
  const failures = createReopenBackoff();
  const threads = createThreads({
    openThread,
    setTimer,
    changed,
    lost(error, of) {
      if (of === current) lose(error);
    },
    ended: note,
  });
  let host: InboxHost | undefined;
  let file: string | undefined;
  let current: ThreadClient | undefined;
  let fileId: string | undefined;
  let opening: Promise<ThreadClient> | undefined;
  let failure = notOpen;
  let timer: ReturnType<Clock["setTimer"]> | undefined;
  let reopening: Promise<void> | undefined;
  let isLoose = false;
  let isMoved = false;

  function note({ tasks }: Batch, [first]: readonly TaskResult[]): void {
    if (first === undefined) return;
    if ("error" in first) {
      const error = toStorageError(first.error);
      if (error.code === "disk-full") failures.full(error, host?.clock.now() ?? 0);
    } else if (!failures.none && tasks.some(({ verb }) => WRITES.has(verb))) {
      failures.succeeded();
    }
  }

  function lose(error: StorageError): void {
    if (current === undefined || host === undefined) return;
    current = undefined;
    failed(error, host);
  }

  function failed(error: StorageError, { clock, log }: InboxHost): void {
    const waitMs = failures.add(error, clock.now());
    const said = { err: error, code: "inbox-reopened", tryAgainMs: waitMs };
    log.error(said, "the inbox file is being reopened: deliveries get 503 meanwhile");
    failure = error;
    if (error.code === "file-replaced") {
      isMoved = true;
      replaced();
    }
    if (waitMs === 0) {
      reopening = reopen();
      return;
    }
    timer = clock.setTimer(() => {
      reopening = reopen();
    }, waitMs);
    if (isLoose) timer.unref?.();
  }

  async function reopen(): Promise<void> {
    const given = host;
    if (given === undefined || file === undefined) return;
    let next: ThreadClient | undefined;
    try {
      if (isMoved) await assertPlace(file);
      isMoved = false;
      next = await threads.start({ ...given, file, isSuspect: failures.isSuspect });
      // Replaced while it was closed. Unknown where one of the two ids is.
      const known = next.fileId ?? fileId;
      if (fileId !== undefined && known !== fileId) replaced();
      fileId = known;
      await resume(next);
    } catch (error) {
      next?.abandon();
      if (host !== given) return;
      failed(
        error instanceof StorageError ? error : new StorageError("storage-failed", String(error), { cause: error }),
        given,
      );
      return;
    }
    if (host !== given) return next.close();
    current = next;
    if (isLoose) next.unref();
    changed();
  }

  async function start(given: InboxHost): Promise<ThreadClient> {
    file = await locate();
    await assertPlace(file);
    return threads.start({ ...given, file, isSuspect: failures.isSuspect });
  }

  return {
    file() {
      if (file === undefined) throw failure;
      return file;
    },
    async open(given) {
      if (current !== undefined || host !== undefined) return;
      const begun = start(given);
      opening = begun;
      const channel = await begun;
      if (opening !== begun) throw notOpen; // it was closed meanwhile, and its thread with it
      [current, host, isLoose, opening] = [channel, given, false, undefined];
      ({ fileId } = channel);
    },
    channel() {
      if (current === undefined) throw failure;
      return current;
    },
    failure: () => (current === undefined ? failure : failures.shortage(host?.clock.now() ?? 0)),
    isHopeless: () => failures.isHopeless,
    reopened: () => failures.reopened,
    hasUnstableInodes: () => current !== undefined && current.fileId === undefined,
    counts: threads.counts,
    distrust(error) {
      current?.abandon();
      lose(error);
    },
    unref() {
      isLoose = true;
      timer?.unref?.();
      current?.unref();
    },
    async close() {
      timer?.clear();
      host = undefined;
      failure = notOpen;
      const [closing, late] = [current, opening];
      [current, opening] = [undefined, undefined];
      const lateEnd = late?.then(
        (channel) => channel.close(),
        () => {},
      );
      await Promise.all([reopening, closing?.close(), lateEnd]);
    },
  };
}

/** That one of them holds says that the next holds; what an inbox does by itself when it is opened says nothing. */
const WRITES: ReadonlySet<keyof Operations> = new Set(["insert", "expand", "settle"]);

/** Commit threads, one at a time: messages of earlier ones are ignored. */
interface Threads {
  /** @throws StorageError with the thread's reason, or that it hangs */
  start(options: ThreadOptions): Promise<ThreadClient>;
  /** How much the newest says there is in the file. */
  counts(): Counts;
}

interface ThreadsOptions {
  readonly openThread: (options: ThreadOptions, events: ThreadEvents) => Promise<ThreadClient>;
  readonly setTimer: Clock["setTimer"];
  /** Another process has committed. */
  readonly changed: () => void;
  /** It ended by itself, or hangs. */
  readonly lost: (error: StorageError, channel: ThreadClient) => void;
  /** A batch has its results. */
  readonly ended: (batch: Batch, results: readonly TaskResult[]) => void;
}

function createThreads({ openThread, setTimer, changed, lost, ended }: ThreadsOptions): Threads {
  let counts: Counts = EMPTY;
  let newest = 0;

  return {
    async start({ file, name, dedupeWindowMs, isSuspect }) {
      newest += 1;
      const mine = newest;
      let channel: ThreadClient | undefined;
      const made = openThread(
        { file, name, dedupeWindowMs, isSuspect },
        {
          counted(given) {
            if (mine === newest) counts = given;
          },
          changed() {
            if (mine === newest) changed();
          },
          ended(error) {
            if (channel !== undefined) lost(error, channel);
          },
        },
      );
      try {
        const raw = await unlessHung(made, { ms: isSuspect === true ? LOOKING_MS : SILENT_MS, setTimer });
        channel = watchedChannel(raw, { ms: SILENT_MS, setTimer, lost, ended });
      } catch (error) {
        made.then((late) => late.abandon()).catch(() => {});
        throw error;
      }
      return channel;
    },
    counts: () => counts,
  };
}

const EMPTY: Counts = {
  unexpanded: 0,
  waiting: 0,
  running: 0,
  dead: 0,
  unhandled: 0,
  oldestUnexpandedAt: undefined,
  oldestUnsettledAt: undefined,
};
