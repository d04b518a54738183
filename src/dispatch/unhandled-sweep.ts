import { kindOf } from "../assert.ts";
import { passed as now, type Clock } from "../clock.ts";
import type { NewJob } from "../inbox/port/delivery.ts";
import type { SingleEvent } from "../protocol/event-types.ts";
import type { InboxStats, WorkingInbox } from "../inbox/port/inbox.ts";
import type { HandledType, Reopened, UnhandledJob } from "../inbox/port/jobs.ts";
import { TRY_AGAIN_MS, type DispatchDeps } from "./dispatch-deps.ts";
import { nextTurn } from "./event-loop.ts";
import { FAIR_S, fairSeconds, jobsOf, TURN_BYTES } from "./expand.ts";
import { eventAt } from "./calls/job-view.ts";

/** Jobs reopened in one commit. While as many jobs wait for a slot, reopened ones would only stand before fresh ones. */
const PAGE = 100;
/** From one page to the next while as many wait: what is stuck does not end the sweep. */
const PAGE_EVERY_MS = 1_000;
/** Of the memory for jobs: what may not start fills so much of it at once, and more by a page a second. */
const HALF_FULL = 0.5;
/** From here on by one job a second. */
const NEARLY_FULL = 0.9;

/** Makes jobs of unhandled ones that have a handler now, page by page, beside all other work. */
export interface UnhandledSweep {
  /** Looks at all unhandled jobs, from the first one on; a sweep that is under way does so once more at its end. */
  begin(): void;
  /** Another process is the worker, or the receiver closes: nothing more is reopened. */
  end(): void;
  /** Fewer jobs may wait now. */
  check(): void;
  /** A sweep is under way, or one that was ended waits for an answer of the inbox. */
  running(): boolean;
}

export interface UnhandledSweepOptions {
  /** The last claim found all that may start now: what waits is blocked, or paused. */
  readonly isExhausted: () => boolean;
  /** There may be something to claim. */
  readonly wake: () => void;
  /** `running` may be false now. */
  readonly ended: () => void;
}

export function createUnhandledSweep(
  inbox: WorkingInbox,
  { handlers, clock, faultLog, watch }: Pick<DispatchDeps, "handlers" | "clock" | "faultLog" | "watch">,
  { isExhausted, wake, ended }: UnhandledSweepOptions,
): UnhandledSweep {
  let running = 0;
  let current: Pause | undefined;
  let again = false;
  /** For `health()`. */
  let failing: ReturnType<DispatchDeps["watch"]["own"]> | undefined;

  /**
   * Of a page that is refused the first half is tried. What is refused alone is passed, and tried again once another one was taken, and once
   * the rest is reopened, until it counts as refused for good.
   */
  async function sweep(pause: Pause): Promise<void> {
    const handled = typesToLookAt();
    const refused = createRefused({ clock, watch, faultLog });
    let after: string | undefined;
    /** Where what was refused for the first time begins: once the inbox takes others, it comes before them. */
    let back: { readonly after: string | undefined } | undefined;
    /** Where the first one stands that is to be tried once more at the end. */
    let left: { readonly after: string | undefined } | undefined;
    let limit = PAGE;
    /** Refused alone since the last wait, or since one was taken; and how many come before the next wait: each time twice as many. */
    let [refusals, most] = [0, 1];
    let hasWaited = false;
    let more = handled.length > 0;
    while (more && !pause.isOver) {
      let page: readonly UnhandledJob[] = [];
      let tried: readonly UnhandledJob[] = [];
      try {
        const found: unknown = await watch.limit("jobs.unhandled", () =>
          inbox.jobs.unhandled({ handled, after, limit }),
        );
        if (!Array.isArray(found)) throw new TypeError(`The inbox gave ${kindOf(found)}, expected a list of jobs.`);
        page = found as readonly UnhandledJob[];
        const last = page.at(-1)?.id;
        if (last === undefined) {
          more = left !== undefined || again;
          if (!more) pause.end(); // from here on another `begin` is another sweep
          if (left !== undefined && !hasWaited) await pause.wait(TRY_AGAIN_MS, () => false);
          hasWaited = false;
          after = again ? undefined : left?.after;
          [left, again] = [undefined, false];
          refused.nextPass();
          continue;
        }
        tried = page.filter(({ id }) => !refused.isPassed(id));
        const hasReopened = await reopen(tried, pause);
        after = last; // not earlier: a page that failed is read again
        limit = Math.min(2 * limit, PAGE);
        if (hasReopened) {
          [refusals, most, hasWaited] = [0, 2, false];
          refused.reopened(tried);
          stopFailing();
          if (back !== undefined) ({ after } = back);
          back = undefined;
        }
        if (hasReopened) {
          const hasLittleRoom = await forRoom(pause);
          if (hasLittleRoom) limit = 1; // as many as come now hold up the deliveries that come next
        } else await nextTurn(); // nothing waits for what is still unknown
      } catch (error) {
        if (pause.isOver) return;
        faultLog.error({ err: error, code: "inbox-failed" }, "unhandled jobs could not be reopened: it is tried again");
        failing ??= watch.own("reopen", "An unhandled job that has a handler now");
        failing.failed(error);
        const [first, ...rest] = tried;
        const isAlone = first !== undefined && rest.length === 0;
        if (isAlone) {
          const tries = refused.add(first, error);
          if (tries === "first") back ??= { after };
          if (tries !== "last") left ??= { after };
          after = page.at(-1)?.id;
          refusals += 1;
        }
        hasWaited = isAlone ? refusals === most : page.length === 0 || limit === 1;
        if (isAlone && hasWaited) [refusals, most] = [0, Math.min(2 * most, PAGE)];
        limit = Math.ceil(Math.min(page.length || limit, limit) / 2);
        if (hasWaited) await pause.wait(TRY_AGAIN_MS, () => false);
      }
    }
  }

  /** Also `unknown`: what an earlier version could not read, this one may. Its bytes are read anew. */
  function typesToLookAt(): readonly HandledType[] {
    const handled = handlers.handled();
    if (handled.length === 0) return [];
    return [...handled, ...handlers.consumers().map((consumer) => ({ type: "unknown", consumer }))];
  }

  function stopFailing(): void {
    failing?.moved();
    failing = undefined;
  }

  /** @returns whether anything was written */
  async function reopen(page: readonly UnhandledJob[], pause: Pause): Promise<boolean> {
    const replacements: Reopened[] = [];
    let parsed = 0;
    let last: Uint8Array | undefined;
    for (const job of page) {
      if (parsed > TURN_BYTES) {
        await nextTurn();
        if (pause.isOver) return false;
        parsed = 0;
      }
      const { event, delivery } = job;
      // One that several jobs share is parsed once.
      if (event === undefined && delivery.body !== last) parsed += delivery.body.byteLength;
      last = delivery.body;
      const read = eventAt(job);
      const jobs = jobsFor(job, read);
      if (jobs.length > 0) replacements.push({ id: job.id, jobs, event: read });
    }
    if (replacements.length === 0 || pause.isOver) return false;
    await watch.limit("jobs.reopen", () => inbox.jobs.reopen(replacements));
    wake();
    return true;
  }

  /** A job that lost its handler goes to its own consumer only: the others had a job of their own. */
  function jobsFor(job: UnhandledJob, event: SingleEvent): NewJob[] {
    const jobs = jobsOf(event, handlers, job.delivery.source);
    return jobs.filter(
      ({ state, consumer }) => state === "waiting" && (job.consumer === undefined || job.consumer === consumer),
    );
  }

  /** Deliveries that wait for room in the memory come first: nothing of what is unhandled takes any meanwhile. @returns whether there is little room */
  async function forRoom(pause: Pause): Promise<boolean> {
    for (let hasBeenFull = false; ;) {
      await pause.wait(PAGE_EVERY_MS, mayGoOn);
      const { isFull = false, fill = 0 } = statsNow() ?? {};
      hasBeenFull ||= isFull;
      if (!isFull || pause.isOver) return hasBeenFull || fill >= NEARLY_FULL;
    }
  }

  /** Few jobs wait, or none of them may start; and what comes fresh has room. */
  function mayGoOn(): boolean {
    const stats = statsNow();
    if (stats === undefined || stats.isFull === true) return false; // a pause ends by its time
    const { waiting, unexpanded, fill = 0 } = stats;
    return unexpanded + (isExhausted() && fill < HALF_FULL ? 0 : waiting) < PAGE;
  }

  function statsNow(): InboxStats | undefined {
    try {
      return inbox.stats();
    } catch {
      return undefined;
    }
  }

  return {
    begin() {
      if (current?.isOver === false) {
        again = true;
        return;
      }
      again = false;
      const pause = (current = createPause(clock));
      running += 1;
      void sweep(pause).finally(() => {
        running -= 1;
        if (current === pause) stopFailing();
        ended();
      });
    },
    end() {
      current?.end();
      stopFailing();
    },
    check: () => current?.check(),
    running: () => running > 0,
  };
}

/** What one sweep could not reopen, each job alone. It may be the storage that fails: tries count while the inbox takes others. */
function createRefused({ clock, watch, faultLog }: Pick<DispatchDeps, "clock" | "watch" | "faultLog">) {
  const tries = new Map<string, { readonly fairS: number; readonly at: number; readonly taken: number }>();
  /** More than once in this pass. */
  const passed = new Set<string>();
  let pages = 0;

  return {
    isPassed: (id: string): boolean => passed.has(id) || (tries.get(id)?.fairS ?? 0) >= FAIR_S,
    nextPass: () => passed.clear(),
    reopened(jobs: readonly UnhandledJob[]): void {
      pages += 1;
      for (const { id } of jobs) tries.delete(id);
    },
    add({ id }: UnhandledJob, error: unknown): "first" | "again" | "last" {
      const [at, taken, before] = [now(clock), watch.written + pages, tries.get(id)];
      if (before !== undefined) passed.add(id);
      const isFair = before !== undefined && taken > before.taken;
      const fairS = (before?.fairS ?? 0) + (isFair ? fairSeconds(at - before.at) : 0);
      tries.set(id, { fairS, at, taken });
      if (fairS < FAIR_S) return before === undefined ? "first" : "again";
      faultLog.error(
        { err: error, code: "job-not-reopened", jobId: id },
        "an unhandled job cannot be reopened: it stays unhandled, until this process becomes the worker again",
      );
      return "last";
    },
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
