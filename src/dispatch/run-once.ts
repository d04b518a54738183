import { passed, type Clock } from "../clock.ts";
import { HooklineError, isHooklineError } from "../errors.ts";
import type { Seen } from "../inbox/port/seen-store.ts";
import type { Logger } from "../logger.ts";
import { catchRejection } from "../thrown.ts";
import { withTimeout } from "../timeout.ts";

/** The events of one delivery, each of which runs only if no process has done it yet. */
export interface Once {
  /**
   * @returns whether it ran; false: it was done before
   * @throws HooklineError `seen-busy` while another process does it, or has an equal delivery; `seen-failed` where the store does not say: it
   * must not run unseen
   */
  run(key: string, run: () => Promise<void>, how: RunOnce): Promise<boolean>;
  /** The store gave no answer in time: each of the events that follow would wait for it again. */
  readonly hanging: HooklineError | undefined;
  /**
   * After the last event. Where the delivery comes again, all that was done stays done.
   * @throws HooklineError `seen-busy` where it took so long that an equal delivery may have begun; `seen-failed` where the store does not note
   * that it is complete: an equal one would leave out what it has done
   */
  end(isComplete: boolean): Promise<void>;
}

interface RunOnce {
  /** Where the user gave none. */
  readonly leaseMs: number;
  /** Whatever has the key is a duplicate. Otherwise a second edit within the same second may have it. */
  readonly isKept: boolean;
}

export interface OnceOptions {
  readonly clock: Clock;
  /** Throttled. */
  readonly log: Pick<Logger, "error">;
  /** Equal deliveries have the same. */
  readonly delivery: string;
  /** For all events of the delivery together, milliseconds. */
  readonly mostMs: number;
  /** After so long the delivery's handlers have ended, or are stuck, milliseconds. */
  readonly leaseMs: number;
  /** @throws why nothing of the delivery is to begin any more */
  readonly assertOpen: () => void;
}

/**
 * One of equal deliveries: they run one after another, and each has what was done in its own round alone. It is tried until it is complete,
 * by whichever of them comes; so each edit is handled after it was made, if not in its own delivery, then in that of the others that is last.
 */
interface Round {
  readonly nth: number;
  readonly key: string;
  readonly startedAt: number;
  /** The same moment, of {@link passed}. */
  readonly passedAt: number;
}

/** A store that gives no answer must not hold up the answer of a delivery, nor half of its time, milliseconds. */
const LIMIT_MS = 5_000;
const LATE = Symbol("late");
/** The shortest time that something can be remembered for, milliseconds. */
const FORGET_MS = 1;
/** Equal deliveries are of one second, and come again every 10 minutes at most: a store that says `done` of more is wrong. */
const MOST_ROUNDS = 1_000;
/** Asked of the store at once, where nothing depends on the order. */
const AT_ONCE = 10;
/** The answer waits so long for what was done in a complete round to be forgotten, and no longer than half of its time, milliseconds. */
const FORGET_WITHIN_MS = 1_000;
/** A round of which nothing is left is remembered so long: equal deliveries are of one second, and come again within minutes. */
const EMPTY_ROUND_MS = 60 * 60 * 1_000;

export function createOnce({ store, leaseMs, keepMs }: Seen, { clock, log, delivery, ...times }: OnceOptions): Once {
  let begun: Promise<Round> | undefined;
  /** Done in the round, now or before. */
  const done: string[] = [];
  /** Done, and claimed until the next one is: a delivery of one event leaves nothing behind. */
  let last: string | undefined;
  let hanging: HooklineError | undefined;
  const limitMs = Math.min(LIMIT_MS, Math.ceil(times.mostMs / 2));

  // In a promise: a store of the user's may throw, or give no promise.
  async function inTime<T>(call: () => T) {
    const called = Promise.resolve().then(call);
    void called.catch(catchRejection); // and what it throws may be a promise
    const result = await withTimeout(limitMs, called, { clock, late: LATE });
    if (result === LATE) throw (hanging = toFailure(`gave no answer within ${limitMs} ms`));
    return result;
  }

  async function settle(key: string, how: "done" | "failed", ms = keepMs): Promise<void> {
    await inTime(() => store.settle(key, how, ms)).catch((err: unknown) => {
      log.error({ code: "seen-failed", err }, "the `seen` store did not note how an event ended: it may run again");
    });
  }

  async function claim(key: string, ownLeaseMs: number): Promise<"mine" | "busy" | "done"> {
    const asked = Promise.resolve().then(() => store.claim(key, ownLeaseMs));
    const claimed = await inTime(() => asked).catch((cause: unknown) => {
      // What comes late must not stay claimed by nobody.
      void asked.then((late) => (late === "mine" ? settle(key, "failed") : undefined)).catch(() => {});
      throw toFailure("failed: the event was not handled", cause);
    });
    if (claimed !== "mine" && claimed !== "busy" && claimed !== "done")
      throw toFailure(`gave ${String(claimed)}: the event was not handled`);
    return claimed;
  }

  /** The first round that is not complete. */
  async function begin(): Promise<Round> {
    const [startedAt, passedAt] = [clock.now(), passed(clock)];
    for (let nth = 0; nth < MOST_ROUNDS; nth += 1) {
      times.assertOpen();
      const key = `${delivery}:round:${nth}`;
      const claimed = await claim(key, times.leaseMs);
      if (claimed === "busy") throw equalDelivery();
      if (claimed === "mine") return { nth, key, startedAt, passedAt };
    }
    throw toFailure(`gave done for each of ${MOST_ROUNDS} keys: the event was not handled`);
  }

  async function settleLast(): Promise<void> {
    if (last === undefined) return;
    await settle(last, "done");
    done.push(last);
    last = undefined;
  }

  async function complete({ key, startedAt }: Round): Promise<void> {
    if (done.length > 0) {
      await inTime(() => store.settle(key, "done", keepMs)).catch((cause: unknown) => {
        throw toFailure("did not note that the delivery is complete: an equal one would leave it out", cause);
      });
    }
    if (last !== undefined) await settle(last, "failed");
    if (done.length === 0) return settle(key, "failed");
    const until = Math.min(clock.now() + FORGET_WITHIN_MS, startedAt + times.mostMs / 2);
    // What is not forgotten belongs to a round that is over, and to no other.
    if (await forget(done, until)) await settle(key, "done", Math.min(EMPTY_ROUND_MS, keepMs));
  }

  /** @returns whether all are forgotten in time */
  async function forget(keys: readonly string[], until: number): Promise<boolean> {
    for (let first = 0; first < keys.length; first += AT_ONCE) {
      if (clock.now() >= until) return false;
      const some = keys.slice(first, first + AT_ONCE).map((key) => inTime(() => store.settle(key, "done", FORGET_MS)));
      const results = await Promise.allSettled(some);
      if (results.some(({ status }) => status === "rejected")) return false;
    }
    return true;
  }

  return {
    get hanging() {
      return hanging;
    },
    async run(given, run, how) {
      const round = how.isKept ? undefined : await (begun ??= begin());
      const key = round === undefined || round.nth === 0 ? given : `${given}:round:${round.nth}`;
      const claimed = await claim(key, leaseMs ?? how.leaseMs);
      if (claimed === "done") {
        if (!how.isKept) done.push(key);
        return false;
      }
      if (claimed === "busy") throw toBusy("Another process handles the event, or died while it did.");
      if (!how.isKept) await settleLast();
      try {
        await run();
      } catch (error) {
        // A handler that ignores its signal still runs: nobody else is to begin before the end of the lease.
        if (!isHooklineError(error, "handler-stuck")) await settle(key, "failed");
        throw error;
      }
      if (how.isKept) await settle(key, "done");
      else last = key;
      return true;
    },
    async end(isComplete) {
      const round = await begun?.catch(() => undefined); // where it did not begin, each event says why
      if (round === undefined) return;
      // Another one may have the round by now. Of a machine that slept the wall clock alone says so; but it may have been set, too.
      const mostMs = times.leaseMs - LIMIT_MS;
      const isOver = passed(clock) - round.passedAt > mostMs;
      const isLate = isOver || clock.now() - round.startedAt > mostMs;
      try {
        if (isComplete && !isLate) return await complete(round);
      } catch (error) {
        await settleLast();
        await settle(round.key, "failed");
        throw error;
      }
      await settleLast();
      if (!isOver) await settle(round.key, "failed");
      if (isLate) throw equalDelivery();
    },
  };
}

function equalDelivery(): HooklineError {
  return toBusy("An equal delivery is handled at the same time.");
}

function toBusy(message: string): HooklineError {
  return new HooklineError("seen-busy", message, {
    fix: "Nothing to do: the delivery comes again. If the other process died, the event runs again when its lease is over.",
  });
}

function toFailure(what: string, cause?: unknown): HooklineError {
  return new HooklineError("seen-failed", `The \`seen\` store ${what}.`, {
    cause,
    fix: "Check the store's server; the delivery comes again.",
  });
}
