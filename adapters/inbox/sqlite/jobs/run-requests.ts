import { StorageError, type Clock, type InboxHost, type Timer, type Worker } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { LoadedJob } from "../thread/records.ts";
import { createWorkerLock } from "../work/worker-lock.ts";
import type { WorkerState } from "../work/worker-state.ts";
import type { AdminRequest, RequestAnswer, RequestState } from "./request-pages.ts";

/** Admin requests: submitted by this process, or run here for another process. */
export interface AdminRequestRunner {
  /**
   * Resolves with what was done when the request is done: by the active worker, in this process or another; or, without an active
   * worker, by this process under the worker lock, page by page. A request is done even if the caller ends.
   * @throws StorageError `request-queued` when nothing was done for 10 s; it will be
   */
  submit(request: AdminRequest): Promise<RequestAnswer>;
  /** Puts new jobs into their lanes. */
  append(jobs: readonly LoadedJob[]): void;
  /** For the active worker: runs all open requests. Never rejects; failed ones are retried on a timer. */
  serve(): Promise<void>;
  /** The file has changed, or was reopened. */
  changed(): void;
  /** Stops running requests, and waiting for answers: unanswered ones stay queued. */
  stop(): void;
}

export interface AdminRequestRunnerDeps {
  readonly file: () => string;
  readonly commits: CommitQueue;
  readonly host: () => InboxHost;
  readonly workerState: WorkerState;
  /** Undefined unless this process is active or on standby. */
  readonly worker: () => Worker | undefined;
  /** False once it is being closed: a request that has pages left is left to the next process. */
  readonly isOpen: () => boolean;
}

/** Between two tries of what is held up, or failed. */
const AGAIN_MS = 250;
/** So often one is tried that fails by itself, or under which the commit thread ends: then it is refused. */
const MOST_FAILURES = 3;
const MOST_WORKER_DEATHS = 2;
const DEATHS: ReadonlySet<string> = new Set(["thread-lost", "thread-hung"]);

/** So many pages in a row, then a rest in which another process gets the work if it wants it: longer than a stand-by's probe. */
const PAGES_IN_A_ROW = 10;
const REST_MS = 300;

export function createAdminRequestRunner(deps: AdminRequestRunnerDeps): AdminRequestRunner {
  const { file, commits, host, workerState, worker, isOpen } = deps;
  const waits = new Set<ReturnType<typeof createRequestWait>>();
  /** The request that failed last, and how often in a row. */
  let failing: { readonly id: number; readonly times: number } | undefined;
  /** The thread ended under the next one: which it is, the next thread tells. */
  let died: StorageError | undefined;
  let served = Promise.resolve();
  let [isServing, isAskedAgain] = [false, false];
  let timer: Timer | undefined;

  function append(jobs: readonly LoadedJob[]): void {
    workerState.append(jobs);
    if (jobs.length > 0) worker()?.wake();
  }

  function remove(ids: readonly number[]): void {
    if (ids.length === 0) return;
    const ended = workerState.lanes.remove(new Set(ids), host().clock.now());
    if (ended.length > 0) worker()?.lost(ended);
    worker()?.wake();
  }

  /** A request may have progressed. */
  function notify(): void {
    for (const wait of waits) wait.wake();
  }

  /** @param idleEpoch of a caller that holds the worker lock @returns whether there may be more at once */
  async function runPage(idleEpoch: number | undefined): Promise<boolean> {
    const at = host().clock.now();
    if (died !== undefined) await failed(died, idleEpoch);
    if (idleEpoch === undefined && !workerState.isLoaded) return false;
    try {
      const page = await commits.add("runRequest", { at, idleEpoch });
      failing = undefined;
      if (page === undefined) return false;
      append(page.added);
      remove(page.removed);
      if (page.isHeldUp) later();
      else notify();
      return !page.isHeldUp;
    } catch (error) {
      // Another process took over, and runs the request.
      const cause = error as StorageError;
      if (cause.code === "epoch-stale") return false;
      // A file that another program holds, or a full disk, is no fault of the request: it stays.
      if (DEATHS.has(cause.code)) died = cause;
      else if (cause.code === "storage-failed") await failed(cause, idleEpoch);
      later();
      return false;
    }
  }

  async function failed(cause: StorageError, idleEpoch: number | undefined): Promise<void> {
    try {
      const id = await commits.add("nextRequest", undefined);
      died = undefined;
      if (id === undefined) return;
      failing = { id, times: failing?.id === id ? failing.times + 1 : 1 };
      if (failing.times < (DEATHS.has(cause.code) ? MOST_WORKER_DEATHS : MOST_FAILURES)) return;
      const { clock, log } = host();
      const failure = { id, at: clock.now(), error: cause.message, idleEpoch };
      if (await commits.add("failRequest", failure))
        log.error(
          { err: cause, code: "request-failed", requestId: String(id) },
          "a replay, drop or erase could not be carried out, and is refused",
        );
      failing = undefined;
      notify();
    } catch {
      // It is retried.
    }
  }

  async function runAll(): Promise<void> {
    isServing = true;
    do {
      isAskedAgain = false;
      while (isOpen() && (await runPage(undefined)));
    } while (isAskedAgain);
    isServing = false;
  }

  function serve(): Promise<void> {
    isAskedAgain = true;
    timer?.clear();
    if (!isServing) served = runAll();
    return served;
  }

  function later(): void {
    timer?.clear();
    timer = workerState.isLoaded ? host().clock.setTimer(() => void serve(), AGAIN_MS) : undefined;
    timer?.unref?.();
  }

  /** Undefined while the file is being reopened. */
  function stateOf(id: number): Promise<RequestView | undefined> {
    return commits.add("requestState", id).catch(() => undefined);
  }

  /**
   * How a request stands. Where nobody works, a page of the oldest one is run, which may be another's: under the lock, with an epoch that was
   * read under it, because a later owner has a higher one.
   */
  async function look(id: number): Promise<{ state: RequestView | undefined; isMore: boolean }> {
    const lock = worker() === undefined ? createWorkerLock(file(), host()) : undefined;
    try {
      const isIdle = lock?.tryAcquire() === true;
      const state = await stateOf(id);
      const isMine = isIdle && state !== undefined && state.answer === undefined;
      return { state, isMore: isMine && (await runPage(state.epoch)) };
    } finally {
      lock?.release();
    }
  }

  async function answered(id: number, wait: ReturnType<typeof createRequestWait>): Promise<RequestAnswer> {
    let progress = "";
    for (let pages = 0; ;) {
      const { state, isMore } = await look(id);
      if (state?.answer !== undefined) return toAnswer(state.answer, id);
      if (!isOpen()) {
        // The page that this look ran may have been the last one.
        const last = await stateOf(id).catch(() => undefined);
        if (last?.answer === undefined) throw queued(id);
        return toAnswer(last.answer, id);
      }
      if (state !== undefined && state.progress !== progress) wait.restart();
      else if (wait.isOver) throw queued(id);
      progress = state?.progress ?? progress;
      pages = isMore ? pages + 1 : 0;
      if (pages === PAGES_IN_A_ROW) await wait.rest(REST_MS);
      else if (!isMore) await wait.pause();
      pages %= PAGES_IN_A_ROW;
    }
  }

  return {
    async submit(request) {
      const { clock } = host();
      const id = await commits.add("addRequest", { ...request, at: clock.now() });
      void serve();
      const wait = createRequestWait(clock);
      waits.add(wait);
      try {
        return await answered(id, wait);
      } finally {
        waits.delete(wait);
        wait.end();
      }
    },
    append,
    serve,
    changed() {
      void serve();
      notify();
    },
    stop() {
      timer?.clear();
      for (const wait of waits) wait.end();
    },
  };
}

type RequestView = RequestState & { readonly epoch: number };

function toAnswer({ error, ...answer }: NonNullable<RequestState["answer"]>, id: number): RequestAnswer {
  const { count } = answer;
  if (error === undefined) return answer;
  throw new StorageError("request-failed", `Request ${id} could not be carried out after ${count} jobs: ${error}`, {
    fix: "What was done stays done; the rest is as it was.",
  });
}

function queued(id: number): StorageError {
  return new StorageError("request-queued", `Nothing was done for request ${id} for 10 s, or the inbox was closed.`, {
    fix: "The request stays queued: the process that works carries it out when it answers again, or the next one does. Do not repeat the request, look at the jobs.",
  });
}

/** Nobody answers for so long: the one who works is stalled. */
const PATIENCE_MS = 10_000;
/** Between two looks: at first, and at most. */
const LOOK_MS = { first: 10, most: 250 };

/** Waits for an answer that another process gives. */
function createRequestWait(clock: Clock) {
  let isOver = false;
  let isEnded = false;
  let isWoken = false;
  let lookMs = LOOK_MS.first;
  /** What is being waited for, if something is. */
  let sleep: { end(): void; readonly isLight: boolean } | undefined;
  let patience = setPatience();

  function setPatience(): Timer {
    return clock.setTimer(() => {
      isOver = true;
      sleep?.end();
    }, PATIENCE_MS);
  }

  async function wait(ms: number, isLight: boolean): Promise<void> {
    if (isOver) return;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(resolve, ms);
      sleep = {
        isLight,
        end() {
          timer.clear();
          resolve();
        },
      };
    });
    sleep = undefined;
  }

  return {
    /** Nothing happened for too long, or it was ended. */
    get isOver() {
      return isOver;
    },
    /** Something happened: the timeout restarts. */
    restart(): void {
      if (isEnded) return;
      isOver = false;
      lookMs = LOOK_MS.first;
      patience.clear();
      patience = setPatience();
    },
    /** Until it is woken or over, or has waited for long enough to look again. */
    async pause(): Promise<void> {
      if (!isWoken) await wait(lookMs, true);
      isWoken = false;
      lookMs = Math.min(lookMs * 2, LOOK_MS.most);
    },
    /** For so long, or until it is over. */
    rest: (ms: number): Promise<void> => wait(ms, false),
    wake(): void {
      isWoken = true;
      if (sleep?.isLight === true) sleep.end();
    },
    /** For good. */
    end(): void {
      isEnded = true;
      isOver = true;
      patience.clear();
      sleep?.end();
    },
  };
}
