import {
  UsageError,
  type Flow,
  type FlowTarget,
  type GapInfo,
  type ReceiverLists,
  type Selection,
  type TombstoneInfo,
} from "../index.ts";
import { idIn, toJobFilter, type Filter } from "./filter.ts";
import type { DashboardLog, DashboardSource } from "./source.ts";

/** Jobs a second that are replayed, unless something else is asked for: what failed at once should not come back at once. */
const PER_SECOND = 10;
/** What grew by more than this since it was counted was not what was confirmed. */
const MOST_GROWTH = 1.1;
/** A change that ends within this time is answered with its result, milliseconds. */
const SOON_MS = 2_000;
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

/** What a verb does to what it is asked for. */
interface Change {
  count(): Promise<number>;
  /** @returns what was changed */
  run(): Promise<number>;
}

/** Replays, drops, pauses, resumes, lifts and clears: each is counted first, and refused where the count grew. */
export function createChanges(source: DashboardSource, log: DashboardLog) {
  let begun: readonly BegunChange[] = [];
  let lastId = 0;

  /** @throws UsageError `jobs-invalid`, `option-invalid` */
  async function change(verb: string, asked: AskedChange, who: string | undefined) {
    const changeOf = Object.hasOwn(VERBS, verb) ? VERBS[verb]! : refuse;
    const { perSecond } = verb === "replay" ? { perSecond: PER_SECOND, ...asked } : {};
    const wanted = changeOf({ filter: {}, ...asked, ...(perSecond && { perSecond }) }, source);
    const count = await wanted.count();
    if (asked.count === undefined) return { status: 200, body: { count } };
    if (count > asked.count * MOST_GROWTH) return { status: 409, body: { code: "dashboard-count-grown", count } };
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

type Asked = AskedChange & { readonly filter: Filter };

/** @throws UsageError `jobs-invalid`, `option-invalid` */
const VERBS: Readonly<Record<string, (asked: Asked, source: DashboardSource) => Change>> = {
  replay({ perSecond, ...asked }, { jobs }) {
    const run = async (options: object) => (await jobs.replay(toSelection(asked), options)).count;
    return { count: () => run({ dryRun: true }), run: () => run({ perSecond }) };
  },
  drop(asked, { jobs }) {
    const run = async (options: object) => (await jobs.drop(toSelection(asked), options)).count;
    return { count: () => run({ dryRun: true }), run: () => run({}) };
  },
  lift({ filter: { subscription = "", source } }, { lists, resubscribe }) {
    const isMeant = (one: TombstoneInfo): boolean =>
      String(one.subscription) === subscription && (source === undefined || one.source === source);
    const count = async () => (await lists.tombstones()).filter(isMeant).length;
    async function run() {
      const found = await count();
      await resubscribe(subscription, source === undefined ? {} : { source });
      return found;
    }
    return { count, run };
  },
  pause({ filter }, { flow }) {
    const { reason = "", ...what } = filter;
    return pauseOf(what, flow, async (target) => flow.pause(target, { reason }));
  },
  resume({ filter }, { flow }) {
    return pauseOf(filter, flow, async (target) => void (await flow.resume(target)));
  },
  "clear-gaps"({ filter }, { lists }) {
    async function run() {
      const gaps = await gapsLike(lists, filter);
      await lists.clearGaps(gaps);
      return gaps.length;
    }
    return { count: async () => (await gapsLike(lists, filter)).length, run };
  },
};

/** Counted is one pause, whatever it holds. */
function pauseOf({ accountId, ...what }: Filter, flow: Flow, change: (target: FlowTarget) => Promise<void>): Change {
  const target = { ...what, ...(accountId !== undefined && { accountId: idIn(accountId) }) };
  return { count: async () => (await flow.paused(), 1), run: async () => (await change(target), 1) };
}

function refuse(): never {
  throw new UsageError("option-invalid", "The dashboard got a change that it does not know.");
}

function toSelection({ ids, filter }: Asked): Selection {
  return ids ?? { ...toJobFilter(filter), state: "dead" };
}

/** A gap is named by what the page shows of it: its resource may be content. */
async function gapsLike(lists: ReceiverLists, { family, ...fields }: Filter): Promise<readonly GapInfo[]> {
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
