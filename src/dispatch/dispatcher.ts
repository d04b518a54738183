import { ClosedError } from "../errors.ts";
import { createFifo } from "../inbox/fifo.ts";
import type { Claim, JobOutcome, Settlement, WorkingInbox } from "../inbox/port.ts";
import { createBacklog, type BacklogOptions } from "./backlog.ts";
import { createPace, MOST_AHEAD } from "./pace.ts";
import type { WorkParts } from "./parts.ts";
import { createRests } from "./rests.ts";
import { createRunner } from "./runner.ts";
import { createSettler } from "./settler.ts";
import { createSlots } from "./slots.ts";
import { createSolitude } from "./solitude.ts";
import { ABORT_BEFORE_END_MS, within } from "../within.ts";

/** Most jobs that one call may settle. */
const MERGE_MAX = 1_000;
/** Then the loop gets a turn. */
const CLAIMS_A_TURN = 100;
/** After a failure of the inbox itself. */
const TRY_AGAIN_MS = 1_000;

/** Works on an inbox: expands, claims, runs, settles. */
export interface Dispatcher {
  /** This process has the worker's place. */
  begin(): void;
  /** There may be something to claim. Cheap: many calls in one turn are one look. */
  wake(): void;
  /** There may be something to expand: a newer delivery must not be expanded before it. */
  fallBehind(): void;
  /** Claims that ended without this process settling them. */
  lost(claims: readonly Claim[]): void;
  /** From `begin` to `stop`. */
  working(): boolean;
  /** From the end of the sweep to `stop`: what comes before is kept unexpanded, because what waited longer goes first. */
  expanding(): boolean;
  /** Nothing due and nothing running. */
  idle(): Promise<void>;
  /** No new claims; see `receiver.close`. */
  stop(drainMs: number): Promise<{ readonly done: number; readonly released: number; readonly stuck: number }>;
  /** Resolves when the handlers that outlived `stop` have ended and are settled. */
  ended(): Promise<void>;
  /** See the runner. */
  stuck(): number;
  jammed(): boolean;
}

export function createDispatcher(
  inbox: WorkingInbox,
  parts: WorkParts,
  expanded: BacklogOptions["expanded"],
): Dispatcher {
  const { clock, log, concurrency } = parts;
  const pace = createPace(Math.min(2 * concurrency, Math.max(concurrency, MOST_AHEAD)));
  const rests = createRests();
  const settleInInbox = createSettler(inbox, {
    clock,
    log,
    tryAgainMs: TRY_AGAIN_MS,
    answered(tell) {
      exhausted = false; // before anybody asks whether this was the last
      tell();
      wake();
    },
  });
  const runner = createRunner(parts, {
    settle,
    rested: rests.tell,
    overdue(claimed) {
      solitary.get(claimed)?.();
      wake(); // its slot is free, and nothing is settled that would say so
    },
  });
  const solitude = createSolitude(clock, wake);
  const slots = createSlots({
    concurrency,
    waiting: () => ahead.size,
    next: () => (working ? ahead.shift() : undefined),
    start,
    rested: rests.tell,
  });
  const backlog = createBacklog(parts, { inbox, stopped: () => !working, expanded, wake });
  /** Claimed, and not begun yet. */
  const ahead = createFifo<Claim>();
  /** Taken away before they began. */
  const gone = new WeakSet<Claim>();
  /** Suspects, with whom to tell that the others may go on. */
  const solitary = new WeakMap<Claim, () => void>();
  let working = false;
  let stopped = false;
  let givingBack = 0;
  let givenBack = 0; // jobs
  let swept = false;
  let looking = false;
  let claimedThisTurn = 0;
  let lookAgain = false;
  let behind = true;
  let exhausted = false; // the last claim found less than it had room for
  let timer: { clear(): void } | undefined;

  function settle(settlement: Settlement, then: (settled: boolean) => void): void {
    settleInInbox(settlement, (settled) => {
      then(settled);
      solitary.get(settlement.claim)?.();
    });
  }

  function wake(): void {
    exhausted = false;
    lookAgain = true;
    if (working && !looking) void look();
  }

  async function look(): Promise<void> {
    looking = true;
    try {
      while (lookAgain && working) {
        lookAgain = false;
        if (behind) {
          await backlog.expand();
          behind = inbox.stats().unexpanded > 0;
        }
        await claim();
        if (claimedThisTurn < CLAIMS_A_TURN) continue;
        // Handlers that wait for nothing would keep the loop from everything else.
        claimedThisTurn = 0;
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      log.error({ err: error, code: "inbox-failed" }, "the inbox failed: it is tried again");
      lookAt(TRY_AGAIN_MS);
    } finally {
      looking = false;
    }
    rests.tell();
  }

  async function claim(): Promise<void> {
    const outstanding = ahead.size + slots.taken();
    const room = runner.jammed() ? 0 : pace.ahead(clock.now()) - outstanding;
    if (room <= 0) return;
    const turn = solitude.turn({ busy: outstanding > 0 || !atRest(), stuck: runner.stuck() > 0 });
    // Claiming none tells whether the suspects are still there: they may have been dropped.
    const max = turn === "nobody" ? 0 : turn === "suspect" ? 1 : room;
    const { claims, nextDueAt, suspects } = await inbox.claim({
      max,
      mergeMax: MERGE_MAX,
      suspects: turn === "suspect",
    });
    if (!working) {
      for (const one of claims) giveBack(one);
      return;
    }
    if (solitude.found(suspects)) lookAgain = true;
    for (const one of claims) {
      if (gone.has(one)) giveBack(one);
      else ahead.push(one);
    }
    claimedThisTurn += claims.length;
    const [suspect] = turn === "suspect" ? claims : [];
    if (suspect !== undefined) solitary.set(suspect, solitude.begun());
    exhausted = turn === "others" && claims.length < max && !suspects && !lookAgain;
    lookAt(nextDueAt === undefined ? undefined : nextDueAt - clock.now());
    slots.feed();
  }

  function start(claimed: Claim, free: () => void): void {
    pace.started(clock.now());
    runner.start(claimed, free);
  }

  function giveBack(claimed: Claim): void {
    givingBack += 1;
    settle({ claim: claimed, outcomes: claimed.jobs.map((): JobOutcome => ({ to: "release" })) }, (given) => {
      if (given) givenBack += claimed.jobs.length;
      givingBack -= 1;
      rests.tell();
    });
  }

  function lookAt(inMs: number | undefined): void {
    timer?.clear();
    timer = inMs === undefined || !working ? undefined : clock.setTimer(wake, Math.max(inMs, 0));
  }

  const atRest = (): boolean => givingBack === 0 && runner.running() === 0 && runner.settling() === 0;
  const ended = (): boolean => !looking && atRest();
  const idle = (): boolean => !working || (!lookAgain && exhausted && ahead.size === 0 && ended());

  async function sweep(): Promise<void> {
    try {
      await backlog.reopen();
    } catch (error) {
      log.error(
        { err: error, code: "inbox-failed" },
        "unhandled jobs could not be looked at: they wait for the next start",
      );
    }
    swept = true;
    looking = false;
    wake();
    rests.tell();
  }

  return {
    begin() {
      if (stopped) return;
      working = true;
      looking = true; // nothing is expanded or claimed before the sweep
      void sweep();
    },
    wake,
    fallBehind() {
      behind = true;
      wake();
    },
    lost(claims) {
      for (const claimed of claims) {
        gone.add(claimed);
        runner.lose(claimed);
      }
      for (const claimed of ahead) if (gone.has(claimed)) giveBack(claimed); // its lane waits for it
      ahead.keep((claimed) => !gone.has(claimed));
    },
    working: () => working,
    expanding: () => working && swept,
    async idle() {
      if (!idle()) wake();
      await rests.when(idle);
    },
    async stop(drainMs) {
      const doneBefore = runner.done();
      working = false;
      stopped = true;
      lookAt(undefined);
      solitude.stop();
      for (const claimed of ahead) giveBack(claimed);
      ahead.keep(() => false);
      await within(drainMs - ABORT_BEFORE_END_MS, rests.when(ended), { clock, late: undefined });
      if (runner.running() > 0) runner.abortAll(new ClosedError("closed", "The receiver is closing."));
      await within(Math.min(drainMs, ABORT_BEFORE_END_MS), rests.when(ended), { clock, late: undefined });
      rests.tell();
      return {
        done: runner.done() - doneBefore,
        released: givenBack + runner.released(),
        stuck: runner.running() + runner.settling(),
      };
    },
    ended: () => rests.when(ended),
    stuck: runner.stuck,
    jammed: runner.jammed,
  };
}
