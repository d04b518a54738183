import type { Claim, ClaimedJob, JobOutcome } from "../../inbox/port/claims.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import { MERGE_MAX } from "../../inbox/jobs/merge-run.ts";
import { createClaimsAhead } from "./claims-ahead.ts";
import type { DispatchDeps } from "../dispatch-deps.ts";
import type { FlowRules } from "./flow-rules.ts";
import { createPrefetchSize } from "./prefetch-size.ts";
import { createPoisonIsolation } from "./poison-isolation.ts";
import { createRepeatedLosses } from "./repeated-losses.ts";
import { createSlots } from "./slots.ts";
import { createUnsettledClaims } from "./unsettled-claims.ts";
import type { JobRunner } from "../calls/run-job.ts";
import type { Settle } from "../settle-queue.ts";

/** Claims jobs ahead of the handlers, and starts them as slots become free. */
export interface Prefetcher {
  /** Claims as much as there is room for, and starts what has a slot. */
  claim(): Promise<ClaimResult>;
  /** These claims ended without this process settling them. */
  lost(claims: readonly Claim[]): void;
  /** The inbox has the outcome of this claim, or, where that does not hold, the claim was lost. */
  settled(claim: Claim, holds: boolean): void;
  /** The call of this claim has ended, and the inbox has no outcome yet. */
  unsettled(claim: Claim): void;
  /** The claim's handler is stuck: its slot is free. @returns to be called when it has ended */
  overdue(claim: Claim): () => void;
  /** Releases what has not started. */
  stop(): void;
  /** After a `stop`: claims again. */
  start(): void;
  /** Claims that have not started. */
  prefetched(): Prefetched;
  /** Jobs whose release the inbox has not confirmed yet. */
  releasing(): number;
  /** Jobs that were released before they started. */
  released(): number;
}

/** For the inbox they run; to everyone else they wait. */
export interface Prefetched {
  readonly jobs: number;
  /** When the delivery of the oldest of them was received; undefined where there is none. */
  readonly oldestReceivedAt: number | undefined;
}

interface ClaimResult {
  /** Claims that were found. */
  readonly count: number;
  /** There was room for more, and nothing more is due. */
  readonly exhausted: boolean;
  /** Another claim may find something now, because the turn of poison isolation changed. */
  readonly again: boolean;
  /** Wall-clock time; undefined: unchanged. */
  readonly nextDueAt: number | undefined;
}

export interface PrefetcherOptions {
  readonly runner: JobRunner;
  readonly settle: Settle;
  readonly flow: FlowRules;
  readonly working: () => boolean;
  /** It is time to claim again. */
  readonly wake: () => void;
  /** A slot has nothing more to start, or a release is confirmed. */
  readonly ended: () => void;
}

/** Jobs running at once. */
export const DEFAULT_CONCURRENCY = 10;

export function createPrefetcher(
  inbox: Pick<WorkingInbox, "claim" | "stats">,
  {
    clock,
    concurrency,
    handlerCalls,
    watch,
    faultLog,
  }: Pick<DispatchDeps, "clock" | "concurrency" | "handlerCalls" | "watch" | "faultLog">,
  { runner, settle, flow, working, wake, ended }: PrefetcherOptions,
): Prefetcher {
  const prefetch = createPrefetchSize(concurrency);
  const isolation = createPoisonIsolation(clock, {
    stuck: () => handlerCalls.stuck > 0,
    over: () => releaseAhead(() => true),
    wake,
  });
  /** Claimed and not started. */
  const ahead = createClaimsAhead(flow.fairness);
  /** Lost before they started. */
  const lost = new WeakSet<Claim>();
  /** Suspects, each with the call that ends its isolation. */
  const isolated = new WeakMap<Claim, () => void>();
  const unsettled = createUnsettledClaims();
  const slots = createSlots(concurrency, {
    waiting: () => ahead.size,
    next,
    start(claim, free) {
      prefetch.started(clock.now());
      runner.start(claim, free);
    },
    failed(err) {
      faultLog.error({ err, code: "claim-invalid" }, "a claim could not be started: its slot goes on with the others");
      wake(); // what is ahead has no slot now
    },
    ended,
  });
  /** The last claim found all that it had room for. */
  let wasFull = false;
  /** The last claim failed, or hangs. */
  let hasFailed = false;
  let releasing = 0;
  let released = 0;
  const losses = createRepeatedLosses(clock, watch);

  function next(): Claim | undefined {
    if (!working()) return undefined;
    let claim = ahead.shift();
    for (; claim !== undefined && flow.isHeldClaim(claim); claim = ahead.shift()) release(claim);
    return claim;
  }

  const room = (): number =>
    handlerCalls.jammed || !working() ? 0 : prefetch.size(clock.now()) - ahead.size - slots.taken;

  function release(claim: Claim): void {
    releasing += claim.jobs.length;
    settle({ claim, outcomes: claim.jobs.map((): JobOutcome => ({ to: "release" })) }, (settled) => {
      if (settled) released += claim.jobs.length;
      releasing -= claim.jobs.length;
      ended();
    });
  }

  /** Without jobs there is nothing to settle: such a claim keeps its lane, if it has one. */
  function validOf(claims: readonly Claim[]): readonly Claim[] {
    const valid = claims.filter(hasJobs);
    if (valid.length < claims.length)
      faultLog.error({ code: "claim-invalid" }, "the inbox gave a claim that has no jobs: it is left out");
    return valid;
  }

  /** @returns how many may start */
  function take(claims: readonly Claim[], isOthers: boolean): number {
    // The others' turn may have ended meanwhile.
    const mayStart = !isOthers || isolation.isOthersTurn;
    const before = ahead.size;
    for (const claim of claims) {
      if (lost.has(claim) || !working() || !mayStart || flow.isHeldClaim(claim)) release(claim);
      else ahead.push(claim);
    }
    return ahead.size - before;
  }

  const isBusy = (): boolean =>
    ahead.size + slots.taken > 0 || runner.running() > 0 || releasing + runner.settling() > unsettled.jobs;

  /** Something is due by what the inbox itself says, and it gave nothing. */
  function isWithheld(nextDueAt: number | undefined): boolean {
    if (!working()) return false;
    const isLate = nextDueAt !== undefined && nextDueAt <= clock.now();
    return isLate || (!isBusy() && !flow.holds && hasDueHeads(inbox));
  }

  function releaseAhead(condition: (claim: Claim) => boolean): void {
    // Each is judged once: what the clock says changes between two looks, and a claim that is released must not start.
    const gone = new Set([...ahead].filter(condition));
    ahead.filter((claim) => !gone.has(claim));
    gone.forEach(release);
  }

  function overdue(claim: Claim): () => void {
    isolated.get(claim)?.();
    const isOver = flow.overdue(claim);
    wake(); // nothing is settled that would wake the loop
    return isOver;
  }

  return {
    async claim() {
      if (flow.follow()) releaseAhead(flow.isHeldClaim);
      const outstanding = ahead.size + slots.taken;
      if (outstanding === 0 && wasFull) prefetch.starved();
      if (ahead.size > 0) prefetch.fed();
      const free = room();
      if (free <= 0) {
        if (working()) watch.moved("claim"); // all slots are busy
        return { count: 0, exhausted: false, again: false, nextDueAt: undefined };
      }
      const busy = isBusy();
      const turn = isolation.turn(busy);
      const isOthers = turn === "others";
      // A claim of none says whether suspects still wait: they may have been dropped.
      const max = turn === "none" ? 0 : hasFailed ? 1 : isOthers ? free : concurrency;
      wasFull = false;
      hasFailed = true; // until it has not: what cannot be claimed may be behind what can
      const { suspects, nextDueAt, ...found } = await watch.call(
        "claim",
        "claim",
        () =>
          inbox.claim({
            max,
            slots: concurrency - outstanding,
            mergeMax: MERGE_MAX,
            suspects: turn === "suspects",
            ahead: isOthers ? room : undefined,
            rules: flow,
          }),
        (given) => {
          const late = validOf(given.claims);
          if (turn === "suspects") late.forEach(release);
          else take(late, isOthers);
          slots.fill();
        },
      );
      const claims = validOf(found.claims);
      runner.claimed();
      hasFailed = false;
      if (turn === "suspects") for (const claim of claims) isolated.set(claim, isolation.begun());
      const taken = take(claims, isOthers);
      if (taken > 0 || max === 0) watch.moved("claim");
      else if (working())
        watch.gaveNothing("claim", { isDue: () => claims.length > 0 || isWithheld(nextDueAt), askAgain: wake });
      const isShort = isOthers && claims.length < max;
      if (isShort) prefetch.fed();
      wasFull = isOthers && claims.length === max;
      const nothingElse = isOthers && !busy && claims.length === 0;
      // After a failure one was asked for, and there is room for more.
      const isHeldBack = isOthers && claims.length === max && max < free;
      const again = isolation.found({ suspects, nothingElse }) || isHeldBack;
      slots.fill();
      return { count: claims.length, exhausted: isShort && !suspects, again, nextDueAt };
    },
    lost(claims) {
      for (const claim of claims) lost.add(claim);
      if (runner.lose(claims)) losses.lost();
      releaseAhead((claim) => lost.has(claim)); // their lanes wait for it
    },
    settled(claim, holds) {
      if (holds) losses.over();
      isolated.get(claim)?.();
      unsettled.settled(claim);
    },
    unsettled: (claim) => unsettled.add(claim, overdue),
    overdue,
    stop() {
      flow.stop();
      isolation.stop();
      releaseAhead(() => true);
    },
    start: isolation.start,
    prefetched() {
      let jobs = 0;
      let oldest = Infinity;
      for (const claim of ahead) {
        const [{ delivery }]: readonly [Partial<ClaimedJob>, ...unknown[]] = claim.jobs;
        jobs += claim.jobs.length;
        oldest = Math.min(oldest, delivery?.receivedAt ?? Infinity); // a damaged job ends where it starts
      }
      return { jobs, oldestReceivedAt: oldest === Infinity ? undefined : oldest };
    },
    releasing: () => releasing,
    released: () => released,
  };
}

/** Anything may come from an inbox of somebody else. */
function hasJobs(claim: Partial<Claim> | undefined): boolean {
  const jobs: unknown = claim?.jobs;
  return Array.isArray(jobs) && jobs.length > 0 && jobs.every((job) => typeof job === "object" && job !== null);
}

/** Jobs wait, no lane does for a time, and none runs: the head of a lane is due. */
function hasDueHeads(inbox: Pick<WorkingInbox, "stats">): boolean {
  try {
    const { waiting, running, blockedLanes } = inbox.stats();
    return waiting > 0 && running === 0 && blockedLanes === 0;
  } catch {
    return false;
  }
}
