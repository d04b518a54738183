import { become, type ClaimState } from "./claim-state.ts";
import { createCompactingMap } from "./collections/compacting-map.ts";
import { orphaned } from "./job-deaths.ts";
import { claimed, FRESH, settled, type Progress } from "./job-state.ts";
import { createLaneQueues, type LaneQueues, type LaneRow } from "./lane-queues.ts";
import type { Owner } from "./turns.ts";
import { windowAfter, type LaneWindow } from "./lane-window.ts";
import type { Claim, ClaimedJob, ClaimLimits, JobOutcome } from "./port/claims.ts";

/**
 * The lanes of one tenure, and the claims of their jobs, in memory: a lane never has two claims, and a claim is settled once. A storage that
 * outlives the process is the truth, and changes first: what is written between two verbs may fail, or last into the next tenure.
 */
export interface ClaimBook<R extends LaneRow> extends Pick<
  LaneQueues<R>,
  | "append"
  | "isFree"
  | "isPaused"
  | "isPausing"
  | "mayBegin"
  | "hasReady"
  | "hasTried"
  | "hasSuspects"
  | "withdraw"
  | "setWindow"
  | "nextDueAt"
  | "blockedLanes"
> {
  /** Takes runs of jobs. The storage marks them as running; then each begins, or is given back. */
  take(limits: ClaimLimits, now: number): readonly ClaimRecord<R>[];
  /** Undefined where some of its jobs have gone meanwhile, and the others wait again; or where the tenure is over. */
  begin(run: ClaimRecord<R>, toClaimed: (row: R) => ClaimedJob, now: number): Claim | undefined;
  /** The first jobs of a run that has not begun: the others wait again, behind them. */
  shorten(run: ClaimRecord<R>, length: number, now: number): void;
  /** A run that cannot begin. */
  giveBack(run: ClaimRecord<R>, now: number): void;
  /** Some jobs may be in the storage alone. @param restOf those of the lane of a job */
  setRest(restOf: RestOf<R>): void;
  /** What the outcomes make of a claim's jobs, to be written; undefined where it was lost, or is being settled. Its handler has ended. */
  plan(claim: Claim, outcomes: readonly JobOutcome[], now: number): ClaimRecord<R> | undefined;
  /** The plan is written. @returns false where the claim was lost meanwhile */
  holds(plan: ClaimRecord<R>, now: number): boolean;
  /** The plan is perhaps not written: its lane stays closed until another one holds. */
  mayNotHold(plan: ClaimRecord<R>): void;
  /** Of a claim that may be settled. */
  rowsOf(claim: Claim): readonly R[] | undefined;
  /** All claims that run are lost, but not those that are being settled. @returns those that are */
  revoke(): readonly Claim[];
  /** The handler of a claim has ended: where that is lost, its lane goes on. */
  handlerEnded(claim: Claim, now: number): void;
  /** Jobs that are gone from the storage. @returns the claims that are lost with them */
  remove(gone: ReadonlySet<R>, now: number): readonly Claim[];
  /** The process died, or counts as if it had: all claims end, and what ran waits again. */
  orphan(now: number): void;
  /**
   * For the jobs of the next tenure: this one is over, and nothing of it begins or is planned any more. Lanes of lost claims are closed in the
   * next one until their handlers have ended: those of claims that run on are to be revoked before.
   */
  nextTenure(changed: Changed<R>): ClaimBook<R>;
  /** All jobs for which a lane is closed. Those that are gone do not run. */
  taken(): IterableIterator<R>;
  /** Jobs of claims that may be settled, or are being settled. */
  running(): number;
}

/** A claim, from the moment its jobs are taken. */
export interface ClaimRecord<R> {
  readonly claim: Claim;
  /** Oldest first. None where it is of an earlier tenure. */
  readonly rows: readonly R[];
  readonly state: ClaimState;
  /** What becomes of each job, once it is planned; undefined: all are done. */
  progress: readonly Progress[] | undefined;
  /** Of its lane, once it is planned: null where it ends, undefined where it stays as it is. */
  readonly window: LaneWindow | null | undefined;
}

/** The first id and the last. */
type RestOf<R> = (row: R) => readonly [first: number, last: number] | undefined;

/** A job waits again, or has ended: its progress says which. */
export type Changed<R> = (row: R) => void;

interface OpenClaim<R> extends ClaimRecord<R> {
  rows: readonly R[];
  readonly claim: { jobs: Claim["jobs"] };
  /** Its oldest job, or the one that it was of an earlier tenure. */
  readonly head: Owner & Pick<LaneRow, "lane">;
  state: ClaimState;
  window: ClaimRecord<R>["window"];
}

const DONE: Progress = { ...FRESH, state: "done" };

/** Of a claim that has not begun. A run has at least its head. */
const NONE = [] as unknown as Claim["jobs"];

export function createClaimBook<R extends LaneRow>(changed: Changed<R>): ClaimBook<R> {
  return createTenure(changed, []);
}

/** @param lost claims of earlier tenures, whose handlers run on */
function createTenure<R extends LaneRow>(changed: Changed<R>, lost: Iterable<OpenClaim<R>>): ClaimBook<R> {
  const queues = createLaneQueues<R>();
  /** Claims that have not ended. */
  const open = createCompactingMap<Claim, OpenClaim<R>>();
  let next: ClaimBook<R> | undefined;
  let restOf: RestOf<R> | undefined;

  for (const { claim, head } of lost) {
    queues.close(head.lane, head);
    open.set(claim, { claim, rows: [], head, state: "lost", progress: undefined, window: undefined });
  }

  function change(row: R, progress: Progress): void {
    row.progress = progress;
    changed(row);
  }

  function end(record: OpenClaim<R>, now: number): void {
    become(record, "ended");
    open.delete(record.claim);
    if (record.rows.length > 0) queues.release(record.rows, now);
    else queues.open(record.head.lane, record.head, now);
  }

  function giveBack(record: OpenClaim<R>, now: number): void {
    for (const row of record.rows) waitAgain(row, now);
    end(record, now);
  }

  function waitAgain(row: R, now: number): void {
    if (row.progress.state === "running") change(row, settled(row.progress, { to: "release" }, now));
  }

  function handlerEnded(claim: Claim, now: number): void {
    next?.handlerEnded(claim, now);
    const record = open.get(claim);
    if (record?.state === "lost") giveBack(record, now);
  }

  function lose(condition: (record: OpenClaim<R>) => boolean): Claim[] {
    const ended: Claim[] = [];
    for (const record of open.values()) {
      if (!condition(record)) continue;
      become(record, "lost");
      ended.push(record.claim);
    }
    return ended;
  }

  const revoke = (): Claim[] => lose(({ state }) => state === "running");

  function* taken(): Generator<R, void, undefined> {
    for (const { rows } of open.values()) yield* rows;
  }

  return {
    append: queues.append,
    isFree: queues.isFree,
    isPaused: queues.isPaused,
    isPausing: queues.isPausing,
    mayBegin: queues.mayBegin,
    hasReady: queues.hasReady,
    hasTried: queues.hasTried,
    hasSuspects: queues.hasSuspects,
    withdraw: queues.withdraw,
    setWindow: queues.setWindow,
    nextDueAt: queues.nextDueAt,
    blockedLanes: queues.blockedLanes,

    take: (limits, now) =>
      queues.take(limits, now).map((rows) => {
        for (const row of rows) row.progress = claimed(row.progress, now);
        const claim = { jobs: NONE };
        const [head] = rows;
        const record: OpenClaim<R> = { claim, rows, head, state: "ahead", progress: undefined, window: undefined };
        open.set(claim, record);
        return record;
      }),
    begin(run: OpenClaim<R>, toClaimed, now) {
      if (next !== undefined) return undefined;
      // None of them runs then.
      if (run.rows.some(({ progress }) => progress.state !== "running")) {
        giveBack(run, now);
        return undefined;
      }
      run.claim.jobs = run.rows.map(toClaimed) as unknown as Claim["jobs"]; // a run has at least its head
      become(run, "running");
      return run.claim;
    },
    shorten(run: OpenClaim<R>, length, now) {
      for (const row of run.rows.slice(length)) {
        waitAgain(row, now);
        if (row.progress.state !== "waiting") queues.remove(row, now); // it is gone meanwhile
      }
      run.rows = run.rows.slice(0, length);
    },
    giveBack,
    setRest: (of) => void (restOf = of),
    plan(claim, outcomes, now) {
      handlerEnded(claim, now);
      const record = open.get(claim);
      if (record?.state !== "running" || next !== undefined) return undefined;
      become(record, "settling");
      const { rows } = record;
      const isDone = outcomes.length === rows.length && outcomes.every(({ to }) => to === "done");
      record.progress = isDone
        ? undefined
        : rows.map((row, index) => settled(row.progress, outcomes[index] ?? { to: "release" }, now));
      record.window = newWindow(rows, outcomes, restOf);
      return record;
    },
    holds(plan: OpenClaim<R>, now) {
      handlerEnded(plan.claim, now); // it was lost meanwhile
      if (plan.state !== "settling") return false;
      const { rows, progress, window } = plan;
      const lane = rows[0]?.queuedIn;
      if (lane !== undefined && window !== undefined) lane.window = window ?? undefined;
      for (const [index, row] of rows.entries()) change(row, progress?.[index] ?? DONE);
      end(plan, now);
      return true;
    },
    mayNotHold(plan: OpenClaim<R>) {
      if (plan.state === "settling") become(plan, "running");
    },
    rowsOf(claim) {
      const record = open.get(claim);
      return record?.state === "running" ? record.rows : undefined;
    },
    revoke,
    handlerEnded,
    remove(gone, now) {
      const ended = lose(({ state, rows }) => isValid(state) && rows.some((row) => gone.has(row)));
      for (const row of gone) {
        const { state } = row.progress;
        // One that was taken leaves its lane when that is opened again.
        if (state === "waiting") queues.remove(row, now);
        if (state === "waiting" || state === "running") change(row, DONE);
      }
      return ended;
    },
    orphan(now) {
      const running = [...taken()].filter(({ progress }) => progress.state === "running");
      const orphans = orphaned(running.map(({ progress }) => progress));
      for (const [index, row] of running.entries()) change(row, orphans[index] ?? DONE);
      lose(({ state }) => isValid(state));
      const all = [...open.values()];
      for (const record of all) end(record, now);
    },
    nextTenure(changedThen) {
      next = createTenure(
        changedThen,
        [...open.values()].filter(({ state }) => state === "lost"),
      );
      return next;
    },
    taken,
    running() {
      let jobs = 0;
      for (const { state, rows } of open.values()) if (isValid(state)) jobs += rows.length;
      return jobs;
    },
  };
}

/** It is no claim yet, or no more. */
function isValid(state: ClaimState): boolean {
  return state === "running" || state === "settling";
}

function newWindow<R extends LaneRow>(
  rows: readonly R[],
  outcomes: readonly JobOutcome[],
  restOf?: RestOf<R>,
): LaneWindow | null | undefined {
  const [first] = rows;
  const lane = first?.queuedIn;
  const window = windowAfter(rows, outcomes, () => first && restOf?.(first));
  return lane?.key === undefined || window === lane.window ? undefined : (window ?? null);
}
