import { createFifo } from "../inbox/collections/fifo.ts";
import type { Claim, JobOutcome } from "../inbox/port/claims.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import { createPrefetch, MOST_AHEAD } from "./prefetch.ts";
import type { DispatchDeps } from "./deps.ts";
import type { JobRunner } from "./run-job.ts";
import type { Settle } from "./settle-queue.ts";
import { createSlots } from "./concurrency.ts";
import { createPoisonIsolation } from "./poison.ts";

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
