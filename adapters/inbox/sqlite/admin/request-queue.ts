import { StorageError, type Clock, type Timer } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { AdminRequest, RequestState } from "./request-pages.ts";
import type { RequestRunner } from "./request-runner.ts";

/** Submits admin requests of this process. */
export interface RequestQueue {
  /**
   * Resolves with the number of jobs taken when the request is done: by the active worker, in this process or another; or, without an active
   * worker, by this process under the worker lock, page by page. A request is done even if the caller ends.
   * @throws StorageError `request-queued` when nothing was done for 10 s; it will be
   */
  submit(request: AdminRequest): Promise<number>;
  /** A request may have progressed. */
  notify(): void;
  /** Unanswered requests stay queued. */
  stop(): void;
}

export interface RequestQueueDeps {
  readonly commits: CommitQueue;
  readonly clock: () => Clock;
  readonly runner: RequestRunner;
  /** Runs a callback under the worker lock; undefined where another process holds it, or this one works. */
  readonly whileNobodyWorks: <T>(run: () => Promise<T>) => Promise<T | undefined>;
}

/** So many pages in a row, then a rest in which another process gets the work if it wants it: longer than a stand-by's probe. */
const PAGES_IN_A_ROW = 10;
const REST_MS = 300;

export function createRequestQueue({ commits, clock, runner, whileNobodyWorks }: RequestQueueDeps): RequestQueue {
  const waits = new Set<RequestWait>();

  /** Undefined while the file is being reopened. */
  function stateOf(id: number): Promise<RequestView | undefined> {
    return commits.add("requestState", id).catch(() => undefined);
  }

  /** Does a page of the oldest request, which may be another's. The epoch is read under the lock: a later owner has a higher one. */
  async function runPage(id: number): Promise<Turn> {
    const state = await stateOf(id);
    if (state === undefined || state.answer !== undefined) return { state, isMore: false };
    return { state, isMore: await runner.run(state.epoch) };
  }

  async function answered(id: number, wait: RequestWait): Promise<number> {
    let progress = "";
    for (let pages = 0; ;) {
      const { state, isMore } = (await whileNobodyWorks(() => runPage(id))) ?? {
        state: await stateOf(id),
        isMore: false,
      };
      if (state?.answer !== undefined) return toCount(state.answer, id);
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
      const id = await commits.add("addRequest", { ...request, at: clock().now() });
      void runner.serve();
      const wait = createRequestWait(clock());
      waits.add(wait);
      try {
        return await answered(id, wait);
      } finally {
        waits.delete(wait);
        wait.end();
      }
    },
    notify() {
      for (const wait of waits) wait.wake();
    },
    stop() {
      for (const wait of waits) wait.end();
    },
  };
}

type RequestView = RequestState & { readonly epoch: number };

interface Turn {
  readonly state: RequestView | undefined;
  readonly isMore: boolean;
}

function toCount({ count, error }: NonNullable<RequestState["answer"]>, id: number): number {
  if (error === undefined) return count;
  throw new StorageError("request-failed", `Request ${id} could not be carried out after ${count} jobs: ${error}`, {
    fix: "What was done stays done; the rest is as it was.",
  });
}

function queued(id: number): StorageError {
  return new StorageError("request-queued", `Nothing was done for request ${id} for 10 s, or the inbox was closed.`, {
    fix: "It stays queued, and is carried out as soon as the process that works answers again, or another begins: do not ask again, look at the jobs.",
  });
}

/** Waits for an answer that another process gives. */
interface RequestWait {
  /** Nothing happened for too long, or it was ended. */
  readonly isOver: boolean;
  /** Something happened: the timeout restarts. */
  restart(): void;
  /** Until it is woken or over, or has waited for long enough to look again. */
  pause(): Promise<void>;
  /** For so long, or until it is over. */
  rest(ms: number): Promise<void>;
  wake(): void;
  /** For good. */
  end(): void;
}

/** Nobody answers for so long: the one who works is stalled. */
const PATIENCE_MS = 10_000;
/** Between two looks: at first, and at most. */
const LOOK_MS = { first: 10, most: 250 };

function createRequestWait(clock: Clock): RequestWait {
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
    get isOver() {
      return isOver;
    },
    restart() {
      if (isEnded) return;
      isOver = false;
      lookMs = LOOK_MS.first;
      patience.clear();
      patience = setPatience();
    },
    async pause() {
      if (!isWoken) await wait(lookMs, true);
      isWoken = false;
      lookMs = Math.min(lookMs * 2, LOOK_MS.most);
    },
    rest: (ms) => wait(ms, false),
    wake() {
      isWoken = true;
      if (sleep?.isLight === true) sleep.end();
    },
    end() {
      isEnded = true;
      isOver = true;
      patience.clear();
      sleep?.end();
    },
  };
}
