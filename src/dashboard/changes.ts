import { UsageError, type GapInfo, type Selection } from "../index.ts";
import { toJobFilter, type Filter } from "./filter.ts";
import type { DashboardLog, DashboardSource } from "./source.ts";

/** Jobs a second that are replayed, unless something else is asked for: what failed at once should not come back at once. */
const PER_SECOND = 10;
/** What grew by more than this since it was counted was not what was confirmed. */
const MOST_GROWTH = 1.1;
/** A change that ends within this time is answered with its result, milliseconds. */
const SOON_MS = 1_000;
/** Changes that are remembered after their end. */
const KEPT = 10;

/** A change that somebody asks for. Without `count` it is only counted. */
export interface AskedChange {
  readonly ids?: readonly string[];
  readonly filter?: Filter;
  /** As it was counted, and confirmed. */
  readonly count?: number;
  readonly perSecond?: number;
}

/** A change that was begun, as the page shows it: it goes on when the page is closed. */
interface BegunChange {
  readonly id: number;
  readonly verb: string;
  readonly count: number;
  readonly perSecond?: number;
  readonly startedAt: Date;
  endedAt?: Date;
  /** What was changed in the end. */
  changed?: number;
  /** Code of the error that ended it. */
  failed?: string;
}

interface Change {
  count(): Promise<number>;
  run(): Promise<number>;
  /** Of a change that takes its time. */
  readonly perSecond?: number;
}

/** Replays, drops, lifts and clears: each is counted first, and refused where the count grew. */
export function createChanges(source: DashboardSource, log: DashboardLog) {
  let begun: readonly BegunChange[] = [];
  let lastId = 0;

  /** @throws UsageError `jobs-invalid`, `option-invalid` */
  async function change(verb: string, asked: AskedChange, who: string | undefined) {
    const wanted = changeOf(verb, asked, source);
    const count = await wanted.count();
    if (asked.count === undefined) return { status: 200, body: { count } };
    if (count > asked.count * MOST_GROWTH) return { status: 409, body: { code: "dashboard-count-grown", count } };
    const { perSecond } = wanted;
    const one: BegunChange = { id: (lastId += 1), verb, count, startedAt: new Date(), ...(perSecond && { perSecond }) };
    begun = [one, ...begun.filter(({ endedAt }, index) => endedAt === undefined || index < KEPT - 1)];
    const facts = { who, verb, count, ids: asked.ids, filter: asked.filter, perSecond };
    log.info({ ...facts, code: "dashboard-change" }, "a change was asked for in the dashboard");
    const ended = wanted.run().then(
      (changed) => {
        Object.assign(one, { changed, endedAt: new Date() });
        log.info({ ...facts, changed, code: "dashboard-changed" }, "a change of the dashboard is done");
      },
      (error: unknown) => {
        Object.assign(one, { failed: codeOf(error), endedAt: new Date() });
        log.error({ ...facts, err: error, code: "dashboard-change-failed" }, "a change of the dashboard failed");
      },
    );
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, SOON_MS).unref())]);
    return { status: one.endedAt === undefined ? 202 : 200, body: { change: one } };
  }

  return { change, begun: () => begun };
}

/** @throws UsageError */
function changeOf(
  verb: string,
  { ids, filter = {}, perSecond = PER_SECOND }: AskedChange,
  source: DashboardSource,
): Change {
  const { jobs, lists } = source;
  const selection = (): Selection => ids ?? { ...toJobFilter(filter), state: "dead" };
  switch (verb) {
    case "replay":
      return {
        count: () => countOf(jobs.replay(selection(), { dryRun: true })),
        run: () => countOf(jobs.replay(selection(), { perSecond })),
        perSecond,
      };
    case "drop":
      return {
        count: () => countOf(jobs.drop(selection(), { dryRun: true })),
        run: () => countOf(jobs.drop(selection())),
      };
    case "lift": {
      const { subscription = "", source: of } = filter;
      const standing = async () =>
        (await lists.tombstones()).filter(
          (one) => String(one.subscription) === subscription && (of === undefined || one.source === of),
        ).length;
      return {
        count: standing,
        async run() {
          const count = await standing();
          await source.resubscribe(subscription, of === undefined ? {} : { source: of });
          return count;
        },
      };
    }
    case "clear-gaps":
      return {
        count: async () => (await gapsLike(source, filter)).length,
        async run() {
          const gaps = await gapsLike(source, filter);
          await lists.clearGaps(gaps);
          return gaps.length;
        },
      };
    default:
      throw new UsageError("option-invalid", `The dashboard has no change "${verb}".`);
  }
}

async function countOf(done: Promise<{ readonly count: number }>): Promise<number> {
  return (await done).count;
}

/** A gap is named by what the page shows of it: its resource may be content. */
async function gapsLike({ lists }: DashboardSource, { family, ...fields }: Filter): Promise<readonly GapInfo[]> {
  const wanted = Object.entries(fields);
  for (const [name] of wanted)
    if (!["accountId", "subscription", "source", "cause"].includes(name))
      throw new UsageError("option-invalid", `The dashboard got the unknown field "${name}" of a gap.`);
  const found: GapInfo[] = [];
  let after: string | undefined;
  do {
    const page = await lists.gaps({ limit: 1_000, after, families: family === undefined ? undefined : [family] });
    found.push(
      ...page.gaps.filter((gap) => wanted.every(([name, text]) => String(gap[name as keyof GapInfo]) === text)),
    );
    after = page.next;
  } while (after !== undefined);
  return found;
}

/** An error's text may have content; its code has none. */
export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && /^[a-z-]{1,60}$/.test(code) ? code : "internal";
}
