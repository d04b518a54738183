import { kindOf } from "../assert.ts";
import type { Clock } from "../clock.ts";
import type { NewJob } from "../inbox/port/delivery.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import type { UnhandledJob } from "../inbox/port/jobs.ts";
import type { DispatchDeps } from "./dispatch-deps.ts";
import { FAIR_TRIES, jobsOf, nextTurn, TURN_BYTES } from "./expand.ts";
import { eventAt } from "./calls/job-view.ts";

/** Jobs reopened in one commit. While as many jobs wait, reopened ones would only stand before fresh ones. */
const PAGE = 100;
/** From one page to the next while as many jobs wait, so that a lane that is stuck does not end the sweep. */
const PAGE_EVERY_MS = 1_000;

/** Makes jobs of unhandled ones that have a handler now, page by page, beside all other work. */
export interface UnhandledSweep {
  /** Looks at all unhandled jobs once, from the first one on. */
  begin(): void;
  /** Another process is the worker, or the receiver closes: nothing more is reopened. */
  end(): void;
  /** Fewer jobs may wait now. */
  check(): void;
  /** A sweep is under way, or one that was ended waits for an answer of the inbox. */
  running(): boolean;
}

export interface UnhandledSweepOptions {
  /** After a failure of the inbox itself. */
  readonly tryAgainMs: number;
  /** There may be something to claim. */
  readonly wake: () => void;
  /** `running` may be false now. */
  readonly ended: () => void;
}

export function createUnhandledSweep(
  inbox: WorkingInbox,
  { handlers, clock, faultLog, watch }: Pick<DispatchDeps, "handlers" | "clock" | "faultLog" | "watch">,
  { tryAgainMs, wake, ended }: UnhandledSweepOptions,
): UnhandledSweep {
  let running = 0;
  let current: Pause | undefined;

  async function sweep(pause: Pause): Promise<void> {
    const handled = handlers.handled();
    let after: string | undefined;
    let limit = PAGE;
    let fairTries = 0;
    let more = handled.length > 0;
    while (more && !pause.isOver) {
      let page: readonly UnhandledJob[] = [];
      const { written } = watch;
      try {
        const found: unknown = await watch.limit("jobs.unhandled", () =>
          inbox.jobs.unhandled({ handled, after, limit }),
        );
        if (!Array.isArray(found)) throw new TypeError(`The inbox gave ${kindOf(found)}, expected a list of jobs.`);
        page = found as readonly UnhandledJob[];
        await reopen(page, pause);
        after = page.at(-1)?.id; // not earlier: a page that failed is read again
        more = after !== undefined;
        limit = PAGE;
        if (more) await pause.wait(PAGE_EVERY_MS, fewJobsWait);
      } catch (error) {
        if (pause.isOver) return;
        faultLog.error({ err: error, code: "inbox-failed" }, "unhandled jobs could not be reopened: it is tried again");
        await pause.wait(tryAgainMs, () => false);
        const [first] = page;
        fairTries = limit === 1 && first !== undefined && watch.written > written ? fairTries + 1 : 0;
        if (fairTries === FAIR_TRIES) {
          faultLog.error(
            { err: error, code: "job-not-reopened", jobId: first?.id },
            "an unhandled job cannot be reopened: it stays unhandled, until this process becomes the worker again",
          );
          after = first?.id;
          fairTries = 0;
        }
        limit = 1;
      }
    }
  }

  async function reopen(page: readonly UnhandledJob[], pause: Pause): Promise<void> {
    const replacements: { readonly id: string; readonly jobs: readonly NewJob[] }[] = [];
    let parsed = 0;
    let last: Uint8Array | undefined;
    for (const job of page) {
      if (parsed > TURN_BYTES) {
        await nextTurn();
        if (pause.isOver) return;
        parsed = 0;
      }
      const { event, delivery } = job;
      // One that several jobs share is parsed once.
      if (event === undefined && delivery.body !== last) parsed += delivery.body.byteLength;
      last = delivery.body;
      const jobs = jobsFor(job);
      if (jobs.length > 0) replacements.push({ id: job.id, jobs });
    }
    if (replacements.length === 0 || pause.isOver) return;
    await watch.limit("jobs.reopen", () => inbox.jobs.reopen(replacements));
    wake();
  }

  /** A job that lost its handler goes to its own consumer only: the others had a job of their own. */
  function jobsFor(job: UnhandledJob): NewJob[] {
    const jobs = jobsOf(eventAt(job), handlers, job.delivery.source);
    return jobs.filter(
      ({ state, consumer }) => state === "waiting" && (job.consumer === undefined || job.consumer === consumer),
    );
  }

  function fewJobsWait(): boolean {
    try {
      const { waiting, unexpanded } = inbox.stats();
      return waiting + unexpanded < PAGE;
    } catch {
      return false; // a pause ends by its time
    }
  }

  return {
    begin() {
      current?.end();
      const pause = (current = createPause(clock));
      running += 1;
      void sweep(pause).finally(() => {
        running -= 1;
        ended();
      });
    },
    end: () => current?.end(),
    check: () => current?.check(),
    running: () => running > 0,
  };
}

/** What one sweep waits for between its pages. */
interface Pause {
  readonly isOver: boolean;
  /** Resolves after a turn of the event loop, when `condition` holds, after `ms` milliseconds, or at `end`, whichever comes first. */
  wait(ms: number, condition: () => boolean): Promise<void>;
  /** The condition may hold now. */
  check(): void;
  end(): void;
}

function createPause(clock: Clock): Pause {
  let isOver = false;
  let waiting: { readonly condition: () => boolean; readonly resolve: () => void } | undefined;

  function check(): void {
    if (waiting !== undefined && (isOver || waiting.condition())) waiting.resolve();
  }

  return {
    get isOver() {
      return isOver;
    },
    async wait(ms, condition) {
      await nextTurn();
      if (isOver || condition()) return;
      await new Promise<void>((resolve) => {
        const timer = clock.setTimer(resolve, ms);
        waiting = {
          condition,
          resolve() {
            timer.clear();
            resolve();
          },
        };
      });
      waiting = undefined;
    },
    check,
    end() {
      isOver = true;
      check();
    },
  };
}
