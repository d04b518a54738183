import type { Clock, Timer } from "../clock.ts";
import { ClosedError, StorageError } from "../errors.ts";
import { catchRejection } from "../thrown.ts";

/** What an inbox is asked for. Each has to move while it is due. */
type InboxStep = "store" | "expand" | "claim" | "settle";

/** Steps of one job, or of one call: whether others move says nothing of them. */
type OwnStep = "complete" | "reopen" | "unsubscribe";

/** A step that is due and does not move. */
export interface Standstill {
  readonly step: InboxStep | OwnStep;
  /** The one thing that does not move while others may; undefined: nothing does. */
  readonly of: string | undefined;
  /** By timers: neither a clock that is set nor a process that was stopped changes it. */
  readonly seconds: number;
  /** Why it failed last; undefined where the inbox gave no answer yet. */
  readonly cause: unknown;
}

/**
 * Watches from outside whether an inbox moves. Its calls have a time limit: one that hangs fails, as any that fails does, and what it answers
 * later is not lost. Between calls it costs nothing: its timer runs while something is due.
 */
export interface InboxWatch {
  /**
   * Calls a verb; the step is due from here until {@link moved}.
   * @param late gets an answer that comes after the limit
   * @throws StorageError `inbox-hung`, or what the verb throws
   */
  call<T>(step: InboxStep, verb: string, ask: () => Promise<T>, late?: (value: T) => void): Promise<T>;
  /** A step of one job or one call, due from here on: others that move do not hide it. @param of in words for `health()` */
  own(step: OwnStep, of: string): OwnWatch;
  /** The same for a verb of no step: the time limit alone. */
  limit<T>(verb: string, ask: () => Promise<T>): Promise<T>;
  /** It moved, or nothing of it is due. @param wrote something is stored now that was not */
  moved(step: InboxStep, wrote?: boolean): void;
  /** It is due, and failed. */
  failed(step: InboxStep, cause: unknown): void;
  /** It gave nothing, perhaps although something is due. */
  gaveNothing(step: InboxStep, maybe: Withheld): void;
  /** What was written so far: grows while an inbox takes anything at all. */
  readonly written: number;
  /** Only where this process works are steps but `store` due. */
  works(isWorking: boolean): void;
  /** The step that has stood still longest, if one has for {@link STANDSTILL_S}: of all, else of one thing. */
  standstill(): Standstill | undefined;
  /** The receiver is closed: no timer is left, and no call is waited for, but one that settles. */
  stop(): void;
}

/** What one thing waits for. */
interface OwnWatch {
  failed(cause: unknown): void;
  /** It is over. */
  moved(): void;
}

/** Whether something is due that was not given; each second that it is, it is asked for again. */
interface Withheld {
  readonly isDue: () => boolean;
  readonly askAgain: () => void;
}

const TICK_MS = 1_000;
/** Longer than an inbox needs to find out by itself that its storage hangs, seconds. */
const LIMIT_S = 40;
/** No step takes so long between two of its moves, seconds. */
const STANDSTILL_S = 15;

interface StepState {
  isDue: boolean;
  hasMoved: boolean;
  /** Whole seconds without a move. */
  still: number;
  cause: unknown;
  maybe: Withheld | undefined;
}

interface OwnState {
  readonly step: OwnStep;
  readonly of: string;
  readonly state: StepState;
}

interface PendingCall {
  seconds: number;
  readonly step: InboxStep | undefined;
  readonly verb: string;
  readonly fail: (error: Error) => void;
}

export function createInboxWatch(clock: Clock): InboxWatch {
  const steps: Readonly<Record<InboxStep, StepState>> = {
    store: newStep(),
    expand: newStep(),
    claim: newStep(),
    settle: newStep(),
  };
  const all = Object.entries(steps) as [InboxStep, StepState][];
  const owns = new Set<OwnState>();
  const calls = new Set<PendingCall>();
  let timer: Timer | undefined;
  let isLooking = false;
  let isStopped = false;
  let isWorking = false;
  let written = 0;

  /** What is answered within this turn of the event loop needs no timer. */
  function arm(): void {
    if (timer !== undefined || isLooking) return;
    isLooking = true;
    setImmediate(look);
  }

  function look(): void {
    isLooking = false;
    for (const [, step] of all) {
      if (step.maybe?.isDue() !== false) continue;
      step.maybe = undefined;
      step.still = 0;
    }
    if (isStopped || !(calls.size + owns.size > 0 || all.some(([, { isDue, maybe }]) => isDue || maybe !== undefined)))
      return;
    timer = clock.setTimer(tick, TICK_MS);
    timer.unref?.();
  }

  function tick(): void {
    timer = undefined;
    for (const call of calls) {
      call.seconds += 1;
      if (call.seconds >= LIMIT_S) call.fail(toHung(call.verb));
    }
    for (const [name, step] of all) count(step, name !== "store" || isAsked(name));
    for (const { state } of owns) count(state, true);
    arm(); // not `look`: to ask again may have armed it
  }

  /** Between two deliveries nothing is to be stored: whether the last one was, nobody waits for. */
  const isAsked = (name: InboxStep): boolean => [...calls].some(({ step }) => step === name);

  function count(step: StepState, isCounted: boolean): void {
    const { maybe } = step;
    step.maybe = undefined;
    if (maybe?.isDue() === true) {
      step.isDue = true;
      step.cause = NOTHING;
      maybe.askAgain();
    }
    step.still = step.isDue && !step.hasMoved ? step.still + (isCounted ? 1 : 0) : 0;
    step.hasMoved = false;
  }

  function limit<T>(
    { step, verb }: Pick<PendingCall, "step" | "verb">,
    ask: () => Promise<T>,
    late?: (value: T) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const call = {
        step,
        verb,
        seconds: 0,
        fail(error: unknown) {
          catchRejection(error); // what a user's inbox throws may be a promise
          if (calls.delete(call)) reject(error);
        },
      };
      calls.add(call);
      arm();
      try {
        ask().then((value) => {
          if (calls.delete(call)) resolve(value);
          else useLate(value, late);
        }, call.fail);
      } catch (error) {
        call.fail(error);
      }
    });
  }

  return {
    call(step, verb, ...how) {
      steps[step].isDue = true;
      steps[step].maybe = undefined;
      return limit({ step, verb }, ...how);
    },
    own(step, of) {
      const one = { step, of, state: newStep() };
      one.state.isDue = true;
      owns.add(one);
      arm();
      return {
        failed: (cause) => void (one.state.cause = cause),
        moved: () => void owns.delete(one),
      };
    },
    limit: (verb, ask) => limit({ step: undefined, verb }, ask),
    moved(name, wrote = false) {
      const step = steps[name];
      step.isDue = false;
      step.hasMoved = true;
      step.still = 0;
      step.cause = undefined;
      step.maybe = undefined;
      if (wrote) written += 1;
    },
    failed(name, cause) {
      steps[name].isDue = true;
      steps[name].maybe = undefined;
      steps[name].cause = cause;
      arm();
    },
    gaveNothing(name, maybe) {
      steps[name].isDue = false;
      steps[name].maybe = maybe;
      arm();
    },
    get written() {
      return written;
    },
    works(given) {
      if (given === isWorking) return;
      isWorking = given;
      for (const [name, step] of all) if (name !== "store") Object.assign(step, newStep());
    },
    standstill() {
      const still = all.filter(([name, step]) => step.still >= STANDSTILL_S && (isWorking || name === "store"));
      const [longest] = still.toSorted(([, one], [, other]) => other.still - one.still);
      if (longest !== undefined)
        return { step: longest[0], of: undefined, seconds: longest[1].still, cause: longest[1].cause };
      const [own] = [...owns].toSorted((one, other) => other.state.still - one.state.still);
      if (own === undefined || own.state.still < STANDSTILL_S) return undefined;
      return { step: own.step, of: own.of, seconds: own.state.still, cause: own.state.cause };
    },
    stop() {
      isStopped = true;
      timer?.clear();
      // A job that ran is settled for as long as the process lives.
      for (const call of calls) if (call.verb !== "settle") call.fail(new ClosedError("closed", CLOSED));
    },
  };
}

/** One that nobody can read is no answer: its call has failed already. */
function useLate<T>(value: T, late: ((value: T) => void) | undefined): void {
  try {
    late?.(value);
  } catch {
    // The log has had the failure of the call.
  }
}

function newStep(): StepState {
  return { isDue: false, hasMoved: false, still: 0, cause: undefined, maybe: undefined };
}

const NOTHING = new StorageError("inbox-withholds", "The inbox gives no work, although some is due.");

const CLOSED = "The receiver closed while the inbox had not answered.";

function toHung(verb: string): StorageError {
  return new StorageError("inbox-hung", `The inbox has not answered \`${verb}\` for ${LIMIT_S} s.`, {
    fix: "Look at its disk or server; if that answers others, restart the process.",
  });
}
