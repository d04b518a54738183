import { createFifo } from "../inbox/collections/fifo.ts";
import type { Claim, JobOutcome } from "../inbox/port/claims.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import type { DispatchDeps } from "./deps.ts";
import type { JobRunner } from "./run-job.ts";
import type { Settle } from "./settle-queue.ts";
import { createPoisonIsolation } from "./poison.ts";
import PQueue from "p-queue";

/** Most jobs that one call may settle. */
const MERGE_MAX = 1_000;

/** Claims on their way from the inbox to a slot. */
export interface ClaimLoop {
  /** Claims as much as there is room for, and begins what has a slot. */
  claim(): Promise<Found>;
  /** They ended without this process settling them. */
  lost(claims: readonly Claim[]): void;
  /** Its outcome is told. */
  settled(claim: Claim): void;
  /** Its handler is stuck: nobody waits for it any longer. */
  overdue(claim: Claim): void;
  /** Gives back what has not begun. */
  stop(): void;
  /** After a `stop`: claims again. */
  start(): void;
  /** Claimed and not begun. */
  waiting(): number;
  /** Claims that are on their way back. */
  givingBack(): number;
  /** Jobs that were given back. */
  givenBack(): number;
}

/** What a claim found. */
interface Found {
  /** Claims. */
  readonly count: number;
  /** There was room for more, and nothing more is due. */
  readonly exhausted: boolean;
  /** What may be claimed is another now. */
  readonly again: boolean;
  /** Wall-clock time; undefined: as before. */
  readonly nextDueAt: number | undefined;
}

export interface ClaimLoopOptions {
  readonly runner: JobRunner;
  readonly settle: Settle;
  readonly working: () => boolean;
  /** It is time to claim again. */
  readonly wake: () => void;
  /** Something has come to rest. */
  readonly rested: () => void;
}

export function createClaimLoop(
  inbox: Pick<WorkingInbox, "claim">,
  { clock, concurrency }: Pick<DispatchDeps, "clock" | "concurrency">,
  { runner, settle, working, wake, rested }: ClaimLoopOptions,
): ClaimLoop {
  const pace = createPrefetch(Math.min(2 * concurrency, Math.max(concurrency, MOST_AHEAD)));
  const solitude = createPoisonIsolation(clock, {
    stuck: () => runner.stuck() > 0,
    over: () => giveBackAhead(() => true),
    wake,
  });
  const ahead = createFifo<Claim>();
  /** Taken away before they began. */
  const gone = new WeakSet<Claim>();
  /** Suspects, with whom to tell that the others may go on. */
  const solitary = new WeakMap<Claim, () => void>();
  const slots = createSlots({
    concurrency,
    waiting: () => ahead.size,
    next: () => (working() ? ahead.shift() : undefined),
    start(claim, free) {
      pace.started(clock.now());
      runner.start(claim, free);
    },
    rested,
  });
  /** The last claim found all that it had room for. */
  let wasFull = false;
  let givingBack = 0;
  let givenBack = 0;

  const room = (): number => (runner.jammed() || !working() ? 0 : pace.ahead(clock.now()) - ahead.size - slots.taken());

  function giveBack(claim: Claim): void {
    givingBack += 1;
    settle({ claim, outcomes: claim.jobs.map((): JobOutcome => ({ to: "release" })) }, (given) => {
      if (given) givenBack += claim.jobs.length;
      givingBack -= 1;
      rested();
    });
  }

  /** For now: those that meet the condition are not begun. */
  function giveBackAhead(condition: (claim: Claim) => boolean): void {
    for (const claim of ahead) if (condition(claim)) giveBack(claim);
    ahead.keep((claim) => !condition(claim));
  }

  return {
    async claim() {
      const outstanding = ahead.size + slots.taken();
      if (outstanding === 0 && wasFull) pace.starved();
      if (ahead.size > 0) pace.fed();
      const free = room();
      if (free <= 0) return { count: 0, exhausted: false, again: false, nextDueAt: undefined };
      const busy = outstanding > 0 || givingBack > 0 || runner.running() > 0 || runner.settling() > 0;
      const turn = solitude.turn(busy);
      // Claiming none tells whether the suspects are still there: they may have been dropped.
      const max = turn === "nobody" ? 0 : turn === "suspects" ? concurrency : free;
      wasFull = false;
      const limits = { max, slots: concurrency - outstanding, mergeMax: MERGE_MAX, suspects: turn === "suspects" };
      const found = await inbox.claim({ ...limits, ahead: turn === "others" ? room : undefined });
      // Their turn may have ended meanwhile.
      const mayBegin = turn !== "others" || solitude.isOthersTurn;
      const { claims, suspects, nextDueAt } = found;
      for (const claim of claims) {
        if (turn === "suspects") solitary.set(claim, solitude.begun());
        if (gone.has(claim) || !working() || !mayBegin) giveBack(claim);
        else ahead.push(claim);
      }
      if (turn === "others" && claims.length < max) pace.fed();
      wasFull = turn === "others" && claims.length === max;
      const nothingElse = turn === "others" && !busy && claims.length === 0;
      const again = solitude.found({ suspects, nothingElse });
      slots.feed();
      return {
        count: claims.length,
        exhausted: turn === "others" && claims.length < max && !suspects,
        again,
        nextDueAt,
      };
    },
    lost(claims) {
      for (const claim of claims) {
        gone.add(claim);
        runner.lose(claim);
      }
      giveBackAhead((claim) => gone.has(claim)); // their lanes wait for it
    },
    settled: (claim) => solitary.get(claim)?.(),
    overdue(claim) {
      solitary.get(claim)?.();
      wake(); // its slot is free, and nothing is settled that would say so
    },
    stop() {
      solitude.stop();
      giveBackAhead(() => true);
    },
    start: solitude.start,
    waiting: () => ahead.size,
    givingBack: () => givingBack,
    givenBack: () => givenBack,
  };
}

/** How far ahead to claim: what would start within the next moment, judged by what started in the last one. */
interface Prefetch {
  started(now: number): void;
  /** Handlers have nothing to do, though a claim found all that it had room for: claims take longer than they do. */
  starved(): void;
  /** More was claimed than could begin, or all that there was. */
  fed(): void;
  /** Between the least and {@link MOST_AHEAD}. */
  ahead(now: number): number;
}

const MOMENT_MS = 50;
/** A claim that waits cannot take along what comes for it meanwhile, and counts as running when the process dies. */
const MOST_AHEAD = 512;

/** @param least claimed however slow the handlers are */
function createPrefetch(least: number): Prefetch {
  let since = 0;
  let current = 0;
  let last = 0;
  /** What starts in a moment is no more than what was claimed: where that was too little, only more of it shows. */
  let tried = 0;

  function roll(now: number): void {
    const age = now - since;
    if (age >= 0 && age < MOMENT_MS) return;
    last = age < 2 * MOMENT_MS && age >= 0 ? current : 0;
    current = 0;
    since = now;
  }

  return {
    started(now) {
      roll(now);
      current += 1;
    },
    starved() {
      tried = Math.min(2 * Math.max(least, tried), MOST_AHEAD);
    },
    fed() {
      tried = 0;
    },
    ahead(now) {
      roll(now);
      return Math.max(least, tried, Math.min(Math.max(last, current), MOST_AHEAD));
    },
  };
}

/** What runs at once: p-queue is the one place with concurrency. */
interface Slots {
  /** Begins as many claims as have a slot. */
  feed(): void;
  /** Slots that are taken. */
  taken(): number;
}

interface SlotsOptions {
  readonly concurrency: number;
  /** Claims that wait to begin. */
  readonly waiting: () => number;
  /** The next one to begin. */
  readonly next: () => Claim | undefined;
  /** Begins it, and says once when its slot is free. */
  readonly start: (claim: Claim, free: () => void) => void;
  /** A slot is free and has nothing to begin. */
  readonly rested: () => void;
}

/**
 * A task of p-queue is a slot that begins one claim after another: a task for each claim would cost as much as its handler.
 * p-queue's `timeout` is never used: it frees a slot while the function still runs.
 */
function createSlots({ concurrency, waiting, next, start, rested }: SlotsOptions): Slots {
  const queue = new PQueue({ concurrency });
  let taken = 0;

  function run(end: () => void): void {
    for (let claim = next(); claim !== undefined; claim = next()) {
      let starting = true;
      let free = false;
      start(claim, () => {
        free = true;
        if (!starting) run(end);
      });
      starting = false;
      if (!free) return;
    }
    taken -= 1;
    end();
    rested();
  }

  return {
    feed() {
      while (taken < concurrency && waiting() > 0) {
        taken += 1;
        void queue.add(() => new Promise<void>(run));
      }
    },
    taken: () => taken,
  };
}
