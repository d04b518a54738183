import { ClosedError } from "../../errors.ts";
import type { InboxJobs, JobSelection, StoredJob } from "../../inbox/port/jobs.ts";
import type { Sleeper } from "../sleep.ts";

/** Changes many jobs by hand, page by page: the loop turns between two of them, and the receiver may close there. */
export interface JobPages {
  /** @throws ClosedError `closed` */
  replay(jobs: InboxJobs, selection: JobSelection, perSecond: number): Promise<number>;
  /** @throws ClosedError `closed` */
  drop(jobs: InboxJobs, selection: JobSelection): Promise<number>;
  /**
   * How many of them the verb would take.
   * @throws ClosedError `closed`
   */
  count(jobs: InboxJobs, selection: JobSelection, verb: "replay" | "drop"): Promise<number>;
}

/** So many at a time: a commit of the inbox. */
const PAGE = 500;
/** How often a replay with a rate goes on, where the rate is not lower than that. */
const PARTS_A_SECOND = 10;

export function createJobPages(pauses: Sleeper): JobPages {
  return {
    async replay(jobs, selection, perSecond) {
      const run: Run = { takes: TAKES.replay, done: "replayed", count: 0 };
      // All of them before the first one: what dies anew meanwhile would be found once more.
      const ids: string[] = [];
      for await (const page of idsOf(jobs, selection, run)) ids.push(...page);
      const size = Math.min(PAGE, Math.max(1, Math.ceil(perSecond / PARTS_A_SECOND)));
      for (let first = 0; first < ids.length; first += size) {
        await between(run, first === 0 ? 0 : (size / perSecond) * 1_000);
        run.count += await jobs.replay({ ids: ids.slice(first, first + size) });
      }
      return run.count;
    },
    async drop(jobs, selection) {
      const run: Run = { takes: TAKES.drop, done: "dropped", count: 0 };
      for await (const ids of idsOf(jobs, selection, run)) run.count += await jobs.drop({ ids });
      return run.count;
    },
    async count(jobs, selection, verb) {
      const run: Run = { takes: TAKES[verb], done: "counted", count: 0 };
      for await (const ids of idsOf(jobs, selection, run))
        run.count += "ids" in selection ? await countTaken(jobs, ids, run) : ids.length;
      return run.count;
    },
  };

  /** What a selection names, or finds and the verb takes. */
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
    let after: string | undefined;
    do {
      if (after !== undefined) await between(run);
      const page = await jobs.find({ ...selection, after, limit: PAGE });
      yield page.jobs.filter(run.takes).map(({ id }) => id);
      after = page.next;
    } while (after !== undefined);
  }

  /** One by one, with a turn of the loop for each: it comes with all the bytes of its delivery. */
  async function countTaken(jobs: InboxJobs, ids: readonly string[], run: Run): Promise<number> {
    let taken = 0;
    for (const id of ids) {
      const found = await jobs.get(id);
      if (found !== undefined && run.takes(found.job)) taken += 1;
      await between(run);
    }
    return taken;
  }

  async function between(run: Run, ms = 0): Promise<void> {
    await pauses.pause(ms);
    if (!pauses.stopped) return;
    throw new ClosedError("closed", `The receiver closed after ${run.count} jobs were ${run.done}.`, {
      fix: "The rest is as it was: do it again with the next receiver.",
    });
  }
}

/** One call of a verb. */
interface Run {
  readonly takes: (job: StoredJob) => boolean;
  readonly done: string;
  count: number;
}

const TAKES = {
  // One of nobody has no lane to go to.
  replay: ({ state, consumer }: StoredJob) => consumer !== undefined && state !== "waiting" && state !== "running",
  drop: ({ state }: StoredJob) => state === "waiting" || state === "dead" || state === "unhandled",
};
