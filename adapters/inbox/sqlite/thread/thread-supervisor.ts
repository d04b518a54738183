import { StorageError, type Clock, type InboxDisk, type InboxHost } from "../../../../src/adapter.ts";
import type { FileCounts } from "./file-state.ts";
import type { Operations } from "./operations.ts";
import type { Batch, TaskResult } from "./transaction.ts";
import { createReopenBackoff } from "./thread-failures.ts";
import type { ThreadClient, ThreadEvents } from "./thread-client.ts";
import type { ThreadOptions } from "./thread-protocol.ts";
import { toStorageError } from "../connection/to-storage-error.ts";
import { LOOKING_MS, realTimer, SILENT_MS, unlessHung, watchSilence } from "./watchdog.ts";

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
  counts(): FileCounts;
  /** A commit's outcome is unknown: reopens the file. */
  distrust(error: StorageError): void;
  /** The process may end from now on, but for what is under way. */
  unref(): void;
  close(): Promise<void>;
}

export interface ThreadSupervisorOptions {
  readonly openThread: (options: ThreadOptions, events: ThreadEvents) => Promise<ThreadClient>;
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
  let host: InboxHost | undefined;
  let file: string | undefined;
  let current: ThreadClient | undefined;
  let fileId: string | undefined;
  let counts: FileCounts = EMPTY;
  /** What threads before this one still say is ignored. */
  let newest = 0;
  let opening: Promise<ThreadClient> | undefined;
  let failure = notOpen;
  let timer: ReturnType<Clock["setTimer"]> | undefined;
  let reopening: Promise<void> | undefined;
  let isLoose = false;
  let isMoved = false;

  async function start({ name, dedupeWindowMs, log }: InboxHost, path: string): Promise<ThreadClient> {
    newest += 1;
    const mine = newest;
    const { isSuspect } = failures;
    let thread: ThreadClient | undefined;
    let silence: ReturnType<typeof watchSilence<ThreadClient>> | undefined;
    let isConverting = false;
    const opened = openThread(
      { file: path, name, dedupeWindowMs, isSuspect },
      {
        counted(given) {
          if (mine === newest) counts = given;
        },
        converting({ endedAfterMs, ...converting }) {
          const isFirst = !isConverting;
          isConverting = true;
          silence?.alive(LOOKING_MS);
          if (endedAfterMs !== undefined)
            log.info({ code: "inbox-converted", ...converting, ms: endedAfterMs }, "the inbox file was converted");
          else if (isFirst)
            log.info(
              { code: "inbox-converting", ...converting },
              "the inbox file is of an older version and is being converted: deliveries get 503 meanwhile",
            );
        },
        changed() {
          if (mine === newest) changed();
        },
        ended: (error) => lost(error, thread),
      },
    );
    try {
      silence = watchSilence(opened, { ms: isSuspect ? LOOKING_MS : SILENT_MS, setTimer });
      thread = watched(await silence.answer);
      return thread;
    } catch (error) {
      opened.then((late) => late.abandon()).catch(() => {});
      throw error;
    }
  }

  /** The same thread, given up when it gives no answer. */
  function watched(raw: ThreadClient): ThreadClient {
    async function unlessSilent<T>(answer: Promise<T>): Promise<T> {
      try {
        return await unlessHung(answer, { ms: SILENT_MS, setTimer });
      } catch (error) {
        raw.abandon();
        lost(error as StorageError, thread);
        throw error;
      }
    }
    const thread: ThreadClient = {
      ...raw,
      async run(batch) {
        const results = await unlessSilent(raw.run(batch));
        note(batch, results);
        return results;
      },
      close: () => unlessSilent(raw.close()),
    };
    return thread;
  }

  function note({ tasks }: Batch, [first]: readonly TaskResult[]): void {
    if (first === undefined) return;
    if ("error" in first) {
      const error = toStorageError(first.error);
      if (error.code === "disk-full") failures.full(error, host?.clock.now() ?? 0);
    } else if (tasks.some(({ verb }) => WRITES.has(verb))) {
      failures.succeeded();
    }
  }

  /** It ended by itself, hangs, or is not believed: what it was doing is of unknown outcome. */
  function lost(error: StorageError, thread: ThreadClient | undefined): void {
    if (thread === undefined || thread !== current || host === undefined) return;
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
    if (waitMs === 0) return reopenNow();
    timer = clock.setTimer(reopenNow, waitMs);
    if (isLoose) timer.unref?.();
  }

  function reopenNow(): void {
    reopening = reopen();
  }

  async function reopen(): Promise<void> {
    const given = host;
    if (given === undefined || file === undefined) return;
    let next: ThreadClient | undefined;
    try {
      if (isMoved) await assertPlace(file);
      isMoved = false;
      next = await start(given, file);
      // Replaced while it was closed. Unknown where one of the two ids is.
      const known = next.fileId ?? fileId;
      if (fileId !== undefined && known !== fileId) replaced();
      fileId = known;
      await resume(next);
    } catch (error) {
      next?.abandon();
      if (host === given) failed(toStorageFailure(error), given);
      return;
    }
    if (host !== given) return next.close();
    current = next;
    if (isLoose) next.unref();
    changed();
  }

  async function locateAndStart(given: InboxHost): Promise<ThreadClient> {
    file = await locate();
    await assertPlace(file);
    return start(given, file);
  }

  return {
    file() {
      if (file === undefined) throw failure;
      return file;
    },
    async open(given) {
      if (host !== undefined) return;
      const begun = locateAndStart(given);
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
    counts: () => counts,
    distrust(error) {
      current?.abandon();
      lost(error, current);
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
const WRITES: ReadonlySet<keyof Operations> = new Set(["store", "expand", "settle"]);

const EMPTY: FileCounts = {
  unexpanded: 0,
  waiting: 0,
  running: 0,
  dead: 0,
  unhandled: 0,
  expired: 0,
  tombstones: 0,
  oldestUnexpandedAt: undefined,
  oldestOpenAt: undefined,
};

function toStorageFailure(error: unknown): StorageError {
  return error instanceof StorageError ? error : new StorageError("storage-failed", String(error), { cause: error });
}
