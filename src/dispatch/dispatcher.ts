import { ClosedError } from "../errors.ts";
import type { Claim } from "../inbox/port/claims.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import { createBacklog, type BacklogOptions } from "./expand.ts";
import { createClaimLoop } from "./claim-loop.ts";
import type { DispatchDeps } from "./deps.ts";
import { createJobRunner } from "./run-job.ts";
import { createSettleQueue } from "./settle-queue.ts";
import { ABORT_BEFORE_END_MS, withTimeout } from "../timeout.ts";

/** Then the loop gets a turn: more would serve a hot lane faster, and let all others wait for it. */
const CLAIMS_A_TURN = 4;
/** After a failure of the inbox itself. */
const TRY_AGAIN_MS = 1_000;

/** Works on an inbox: expands, claims, runs, settles. */
export interface Dispatcher {
  /** This process has the worker's place. */
  begin(): void;
  /** It has it no more, and may have it again later: nothing more is expanded or claimed until then. */
  end(): void;
  /** There may be something to claim. Cheap: many calls in one turn are one look. */
  wake(): void;
  /** There may be something to expand: a newer delivery must not be expanded before it. */
  fallBehind(): void;
  /** Claims that ended without this process settling them. */
  lost(claims: readonly Claim[]): void;
  /** From the end of the sweep to `end` or `stop`: what comes before is stored unexpanded, because what waited longer goes first. */
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
  parts: DispatchDeps,
  expanded: BacklogOptions["expanded"],
): Dispatcher {
  const { clock, log, faultLog } = parts;
  const rests = createIdleWaiters();
  const settle = createSettleQueue(inbox, {
    clock,
    log: faultLog,
    tryAgainMs: TRY_AGAIN_MS,
    answered(tell) {
      exhausted = false; // before anybody asks whether this was the last
      tell();
      wake();
    },
    settled: (claim) => claiming.settled(claim),
  });
  const runner = createJobRunner(parts, {
    settle,
    rested: rests.tell,
    overdue: (claim) => claiming.overdue(claim),
  });
  const claiming = createClaimLoop(inbox, parts, { runner, settle, working: () => working, wake, rested: rests.tell });
  const backlog = createBacklog(parts, { inbox, expanded, wake });
  let working = false;
  let stopped = false;
  let swept = false; // nothing is expanded or claimed before the sweep
  let tenure = 0;
  /** The tenure whose sweep is under way. */
  let sweeping: number | undefined;
  let looking = false;
  let claimedThisTurn = 0;
  let lookAgain = false;
  let behind = true;
  let exhausted = false; // the last claim found less than it had room for
  let timer: { clear(): void } | undefined;

  function wake(): void {
    exhausted = false;
    lookAgain = true;
    if (swept && !looking) void look();
  }

  /** @returns says, between two steps of some work, whether the tenure that began it is over */
  function ofTenure(): () => boolean {
    const mine = tenure;
    return () => !working || tenure !== mine;
  }

  async function look(): Promise<void> {
    looking = true;
    try {
      while (lookAgain && swept) {
        lookAgain = false;
        // A part at a time: what is expanded is handled while the rest of a long backlog waits.
        if (behind && (await backlog.expand(ofTenure()))) lookAgain = true;
        else behind &&= inbox.stats().unexpanded > 0;
        if (!swept) break; // it lost its place, and a new sweep must end first
        await claimMore();
        if (claimedThisTurn < CLAIMS_A_TURN) continue;
        // Handlers that wait for nothing would keep the loop from everything else.
        claimedThisTurn = 0;
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      if (working) faultLog.error({ err: error, code: "inbox-failed" }, "the inbox failed: it is tried again");
      lookAt(TRY_AGAIN_MS);
    } finally {
      looking = false;
    }
    rests.tell();
  }

  async function claimMore(): Promise<void> {
    const found = await claiming.claim();
    claimedThisTurn += found.count;
    lookAgain ||= found.again;
    exhausted = found.exhausted && !lookAgain;
    if (found.nextDueAt !== undefined) lookAt(found.nextDueAt - clock.now());
  }

  function lookAt(inMs: number | undefined): void {
    timer?.clear();
    timer = inMs === undefined || !working ? undefined : clock.setTimer(wake, Math.max(inMs, 0));
  }

  const ended = (): boolean =>
    !looking &&
    sweeping === undefined &&
    claiming.givingBack() === 0 &&
    runner.running() === 0 &&
    runner.settling() === 0;
  const idle = (): boolean =>
    working ? !lookAgain && exhausted && claiming.waiting() === 0 && ended() : stopped || ended();

  async function sweep(): Promise<void> {
    const mine = (sweeping = tenure);
    try {
      await backlog.reopen(ofTenure());
    } catch (error) {
      if (working)
        log.error(
          { err: error, code: "inbox-failed" },
          "unhandled jobs could not be looked at: they wait for the next start",
        );
    }
    // Another one took its place where the process lost its own meanwhile, and had it again.
    if (sweeping !== mine) return;
    sweeping = undefined;
    swept = working;
    wake();
    rests.tell();
  }

  function rest(): void {
    working = false;
    swept = false;
    lookAt(undefined);
    claiming.stop();
  }

  return {
    begin() {
      if (stopped || working) return;
      working = true;
      tenure += 1;
      behind = true;
      claiming.start();
      void sweep();
    },
    end() {
      rest();
      rests.tell();
    },
    wake,
    fallBehind() {
      behind = true;
      wake();
    },
    lost: claiming.lost,
    expanding: () => swept,
    async idle() {
      if (!idle()) wake();
      await rests.when(idle);
    },
    async stop(drainMs) {
      const released = (): number => claiming.givenBack() + runner.released();
      const [doneBefore, releasedBefore] = [runner.done(), released()];
      stopped = true;
      rest();
      await withTimeout(drainMs - ABORT_BEFORE_END_MS, rests.when(ended), { clock, late: undefined });
      if (runner.running() > 0) runner.abortAll(new ClosedError("closed", "The receiver is closing."));
      await withTimeout(Math.min(drainMs, ABORT_BEFORE_END_MS), rests.when(ended), { clock, late: undefined });
      rests.tell();
      return {
        done: runner.done() - doneBefore,
        released: released() - releasedBefore,
        stuck: runner.running() + runner.settling(),
      };
    },
    ended: () => rests.when(ended),
    stuck: runner.stuck,
    jammed: runner.jammed,
  };
}

/** Those who wait for a moment of rest, each for its own kind. */
interface IdleWaiters {
  /** Resolves when it holds: now, or when a later `tell` finds that it does. */
  when(holds: () => boolean): Promise<void>;
  /** Something ended. */
  tell(): void;
}

function createIdleWaiters(): IdleWaiters {
  let waiting: { readonly holds: () => boolean; readonly resolve: () => void }[] = [];

  return {
    when: async (holds) => {
      if (!holds()) await new Promise<void>((resolve) => waiting.push({ holds, resolve }));
    },
    tell() {
      const over = waiting.filter(({ holds }) => holds());
      if (over.length === 0) return;
      waiting = waiting.filter((one) => !over.includes(one));
      for (const { resolve } of over) resolve();
    },
  };
}
