import type { Clock } from "../../clock.ts";
import { ClosedError } from "../../errors.ts";
import type { InboxJobs, JobQuery, JobSelection, StoredJob } from "../../inbox/port/jobs.ts";

/** Replays and drops many jobs page by page: between pages the event loop turns, and the receiver may close. */
export interface JobPages {
  /**
   * `lacksBodies`: some were not replayed because their body is deleted.
   * @throws ClosedError `closed`
   */
  replay(
    jobs: InboxJobs,
    selection: JobSelection,
    perSecond: number,
  ): Promise<{ readonly count: number; readonly lacksBodies: boolean }>;
  /** @throws ClosedError `closed` */
  drop(jobs: InboxJobs, selection: JobSelection): Promise<number>;
  /**
   * The number of selected jobs that the verb would take.
   * @throws ClosedError `closed`
   */
  count(jobs: InboxJobs, selection: JobSelection, verb: "replay" | "drop"): Promise<number>;
  /**
   * Calls back with each job that is found, of the first pages that have at most so many together.
   * @throws ClosedError `closed`
   */
  each(jobs: InboxJobs, query: JobQuery & { readonly most?: number }, found: (job: StoredJob) => void): Promise<void>;
  /** Ends what is in progress after its current page. */
  stop(): void;
}

/** Jobs in a page: a commit of the inbox. */
const PAGE = 500;
/** Pages a second of a replay with a rate, unless the rate is lower. */
const PAGES_A_SECOND = 10;

export function createJobPages(clock: Clock): JobPages {
  const stopped = new AbortController();

  return {
    async replay(jobs, selection, perSecond) {
      const run: Run = { takes: TAKES.replay, done: "replayed", count: 0 };
      // Find all jobs before the first replay: a replayed one that dies again must not be found a second time.
      const ids: string[] = [];
      let lacksBodies = false;
      for await (const page of idsOf(jobs, selection, run)) ids.push(...page);
      const size = Math.min(PAGE, Math.max(1, Math.ceil(perSecond / PAGES_A_SECOND)));
      for (let first = 0; first < ids.length; first += size) {
        await between(run, first === 0 ? 0 : (size / perSecond) * 1_000);
        const some = ids.slice(first, first + size);
        const replayed = await jobs.replay({ ids: some });
        run.count += replayed;
        lacksBodies ||= replayed < some.length && (await lackBodies(jobs, some));
      }
      return { count: run.count, lacksBodies };
    },
    async drop(jobs, selection) {
      const run: Run = { takes: TAKES.drop, done: "dropped", count: 0 };
      for await (const ids of idsOf(jobs, selection, run)) run.count += await jobs.drop({ ids });
      return run.count;
    },
    async count(jobs, selection, verb) {
      const run: Run = { takes: TAKES[verb], done: "counted", count: 0 };
      for await (const ids of idsOf(jobs, selection, run))
        run.count += "ids" in selection || verb === "replay" ? await countTaken(jobs, ids, run) : ids.length;
      return run.count;
    },
    async each(jobs, { most = Infinity, ...query }, found) {
      const run: Run = { takes: () => true, done: "counted", count: 0 };
      for await (const page of pagesOf(jobs, query, run)) {
        for (const job of page) found(job);
        run.count += page.length;
        if (run.count >= most) return;
      }
    },
    stop: () => stopped.abort(),
  };

  /** The selected ids in pages: all given ones, or those found that the verb takes. */
  async function* idsOf(
    jobs: InboxJobs,
    selection: JobSelection,
    run: Run,
  ): AsyncGenerator<readonly string[], void, undefined> {
    if ("ids" in selection) {
      for (let first = 0; first < selection.ids.length; first += PAGE) {
        if (first > 0) await between(run);
        yield selection.ids.slice(first, first + PAGE);
      }
      return;
    }
    for await (const page of pagesOf(jobs, selection, run)) yield page.filter(run.takes).map(({ id }) => id);
  }

  async function* pagesOf(jobs: InboxJobs, query: JobQuery, run: Run): AsyncGenerator<readonly StoredJob[]> {
    let after: string | undefined;
    do {
      if (after !== undefined) await between(run);
      const page = await jobs.find({ ...query, after, limit: PAGE });
      yield page.jobs;
      after = page.next;
    } while (after !== undefined);
  }

  /** One job at a time, with a turn of the loop for each: `get` reads the whole delivery. */
  async function countTaken(jobs: InboxJobs, ids: readonly string[], run: Run): Promise<number> {
    let taken = 0;
    for (const id of ids) {
      const found = await jobs.get(id);
      if (found !== undefined && run.takes(found.job) && !(run.takes === TAKES.replay && isDeleted(found))) taken += 1;
      await between(run);
    }
    return taken;
  }

  async function between(run: Run, ms = 0): Promise<void> {
    if (!stopped.signal.aborted) await sleep(ms);
    if (!stopped.signal.aborted) return;
    throw new ClosedError("closed", `The receiver closed after ${run.count} jobs were ${run.done}.`, {
      fix: "The other jobs are unchanged: call it again on the next receiver.",
    });
  }

  /** At least one turn of the loop; ends early when stopped. */
  function sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (ms === 0) {
        setImmediate(resolve);
        return;
      }
      const timer = clock.setTimer(end, ms);
      stopped.signal.addEventListener("abort", end);

      function end(): void {
        stopped.signal.removeEventListener("abort", end);
        timer.clear();
        resolve();
      }
    });
  }
}

async function lackBodies(jobs: InboxJobs, ids: readonly string[]): Promise<boolean> {
  for (const id of ids) if (isDeleted(await jobs.get(id))) return true;
  return false;
}

function isDeleted(found: Awaited<ReturnType<InboxJobs["get"]>>): boolean {
  return found !== undefined && found.delivery === undefined;
}

/** One call of a verb. */
interface Run {
  readonly takes: (job: StoredJob) => boolean;
  readonly done: string;
  count: number;
}

const TAKES = {
  // Without a consumer a job has no lane.
  replay: ({ state, consumer }: StoredJob) => consumer !== undefined && state !== "waiting" && state !== "running",
  drop: ({ state }: StoredJob) => state === "waiting" || state === "dead" || state === "unhandled",
};
