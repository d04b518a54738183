import type { Clock } from "../clock.ts";
import { HooklineError, isHooklineError } from "../errors.ts";
import type { Seen } from "../inbox/port/seen-store.ts";
import type { Logger } from "../logger.ts";
import { catchRejection } from "../thrown.ts";
import { withTimeout } from "../timeout.ts";

/** The events of one delivery, each of which runs only if no process has done it yet. */
export interface Once {
  /**
   * @returns whether it ran; false: it was done before
   * @throws HooklineError `seen-busy` while another process does it, `seen-failed` where the store does not say: it must not run unseen
   */
  run(key: string, run: () => Promise<void>, how: RunOnce): Promise<boolean>;
  /**
   * After the last event. Where the delivery comes again, all that was done stays done.
   * @throws HooklineError `seen-busy` where an equal delivery was completed meanwhile, and this one left out what that one had done;
   * `seen-failed` where the store does not forget: an equal one would leave that out
   */
  end(isComplete: boolean): Promise<void>;
}

interface RunOnce {
  /** Where the user gave none. */
  readonly leaseMs: number;
  /** Whatever has the key is a duplicate. Otherwise a second edit within the same second may have it. */
  readonly isKept: boolean;
}

/** A store that gives no answer must not hold up the answer of a delivery, milliseconds. */
const LIMIT_MS = 5_000;
const LATE = Symbol("late");
/** The shortest time that something can be remembered for, milliseconds. */
const FORGET_MS = 1;
/** What is to be forgotten is forgotten by then, milliseconds. */
const FORGOTTEN_MS = 1_000;

export function createOnce(
  { store, leaseMs, keepMs }: Seen,
  { clock, log }: { readonly clock: Clock; /** Throttled. */ readonly log: Pick<Logger, "error"> },
): Once {
  /** Done, and to be forgotten when the delivery is complete. */
  const done: string[] = [];
  /** Done before, as it was said. */
  const skipped: string[] = [];
  /** Done as well, and claimed until the next one is: an equal delivery must always find something that is not done. */
  let last: string | undefined;

  // In a promise: a store of the user's may throw, or give no promise.
  async function inTime<T>(call: () => T) {
    const called = Promise.resolve().then(call);
    void called.catch(catchRejection); // and what it throws may be a promise
    const result = await withTimeout(LIMIT_MS, called, { clock, late: LATE });
    if (result === LATE) throw new Error(`No answer within ${LIMIT_MS} ms.`);
    return result;
  }

  async function settle(key: string, how: "done" | "failed", ms = keepMs): Promise<void> {
    await inTime(() => store.settle(key, how, ms)).catch((err: unknown) => {
      log.error({ code: "seen-failed", err }, "the `seen` store did not note how an event ended: it may run again");
    });
  }

  /** @throws HooklineError `seen-failed` */
  async function forget(key: string): Promise<void> {
    await inTime(() => store.settle(key, "done", FORGET_MS)).catch((cause: unknown) => {
      throw toFailure("did not forget what the delivery had done: an equal one would leave it out", cause);
    });
  }

  async function claim(key: string, ownLeaseMs: number): Promise<"mine" | "busy" | "done"> {
    const asked = Promise.resolve().then(() => store.claim(key, leaseMs ?? ownLeaseMs));
    const claimed = await inTime(() => asked).catch((cause: unknown) => {
      // What comes late must not stay claimed by nobody.
      void asked.then((late) => (late === "mine" ? settle(key, "failed") : undefined)).catch(() => {});
      throw toFailure("failed: the event was not handled", cause);
    });
    if (claimed !== "mine" && claimed !== "busy" && claimed !== "done")
      throw toFailure(`gave ${String(claimed)}: the event was not handled`);
    return claimed;
  }

  /** An equal delivery forgets what it had done when it is complete: what was left out because of it was not done for this one. */
  async function anyForgotten(): Promise<boolean> {
    for (const key of skipped) {
      if ((await claim(key, LIMIT_MS)) !== "mine") continue;
      await settle(key, "failed");
      return true;
    }
    return false;
  }

  /**
   * Where all was done before, two equal deliveries could both take it as done for themselves, and forget it: one of them completes alone.
   * @returns the key that says so; undefined where none is needed, because nobody else completes while something is claimed here
   */
  async function completion(): Promise<string | undefined> {
    const [first] = skipped;
    if (first === undefined || last !== undefined) return undefined;
    const key = `${first}:end`;
    if ((await claim(key, LIMIT_MS)) !== "mine") throw equalDelivery();
    return key;
  }

  async function settleLast(): Promise<void> {
    if (last === undefined) return;
    await settle(last, "done");
    done.push(last);
    last = undefined;
  }

  return {
    async run(key, run, how) {
      const claimed = await claim(key, how.leaseMs);
      if (claimed === "done") {
        if (!how.isKept) skipped.push(key);
        return false;
      }
      if (claimed === "busy")
        throw new HooklineError("seen-busy", "Another process handles the event, or died while it did.");
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
      if (!isComplete) return settleLast();
      const alone = await completion();
      try {
        if (await anyForgotten()) throw equalDelivery();
        for (const key of [...skipped, ...done]) await forget(key);
      } catch (error) {
        if (alone !== undefined) await settle(alone, "failed");
        await settleLast();
        throw error;
      }
      if (last !== undefined) await settle(last, "failed");
      if (alone !== undefined) await settle(alone, "done", FORGOTTEN_MS);
    },
  };
}

function equalDelivery(): HooklineError {
  return new HooklineError("seen-busy", "An equal delivery was handled at the same time: this one may be newer.");
}

function toFailure(what: string, cause?: unknown): HooklineError {
  return new HooklineError("seen-failed", `The \`seen\` store ${what}.`, {
    cause,
    fix: "Check the store's server; the delivery comes again.",
  });
}
