import { assertOptions, wholeNumber } from "../assert.ts";
import { LONGEST_TIMER_MS, type Clock } from "../clock.ts";
import type { DirectHandling } from "../dispatch/direct-handling.ts";
import type { Handlers } from "../dispatch/handlers.ts";
import type { InboxWatch } from "../inbox/standstill-watch.ts";
import type { WritingInbox } from "../inbox/port/inbox.ts";
import type { SecretLookup } from "../ingest/secret-lookup.ts";
import type { DeliveryStore } from "../ingest/store.ts";
import type { Logger } from "../logger.ts";
import { catchRejection } from "../thrown.ts";
import { withTimeout } from "../timeout.ts";
import { toClosed, type Opening } from "./open-inbox.ts";
import type { Closed, Stats } from "./receiver-types.ts";
import type { Work } from "./worker.ts";

export type ReceiverState =
  /** Created; the inbox was not needed yet. */
  | "idle"
  /** The inbox is being opened. */
  | "opening"
  /** The inbox could not be opened: the next call that needs it tries again. */
  | "unavailable"
  /** The inbox is open, and this process does not work on it. */
  | "receiving"
  /** This process tries to become the inbox's worker. */
  | "starting"
  /** Another process is the worker: this one takes over when that one ends. */
  | "standby"
  | "working"
  /** `close` was called; the inbox stays open for the handlers that still run. */
  | "closing"
  /** The inbox was released. */
  | "closed";

export type ReceiverStep =
  | "open"
  | "opened"
  | "open-failed"
  | "start"
  | "begun"
  | "stood-by"
  | "ended"
  | "left"
  | "start-failed"
  | "close"
  | "closed";

/** Every transition: a step that a state does not list changes nothing. `docs/operate/lifecycle.md` draws them. */
export const RECEIVER_STATES: Readonly<Record<ReceiverState, Readonly<Partial<Record<ReceiverStep, ReceiverState>>>>> =
  {
    idle: { open: "opening", close: "closing" },
    opening: { opened: "receiving", "open-failed": "unavailable", close: "closing" },
    unavailable: { open: "opening", close: "closing" },
    receiving: { start: "starting", close: "closing" },
    starting: { begun: "working", "stood-by": "standby", "start-failed": "receiving", close: "closing" },
    standby: { begun: "working", left: "receiving", "start-failed": "receiving", close: "closing" },
    working: { ended: "standby", left: "receiving", "start-failed": "receiving", close: "closing" },
    closing: { closed: "closed" },
    closed: {},
  };

/** The one place where a receiver's state changes. */
export interface ReceiverStates {
  readonly current: ReceiverState;
  /** `close` was called. */
  readonly isClosing: boolean;
  /** @returns false if the current state has no such step: nothing changed */
  take(step: ReceiverStep): boolean;
}

/** @param changed called after each step */
export function createReceiverStates(changed: (state: ReceiverState) => void = () => {}): ReceiverStates {
  let current: ReceiverState = "idle";
  return {
    get current() {
      return current;
    },
    get isClosing() {
      return current === "closing" || current === "closed";
    },
    take(step) {
      const next = RECEIVER_STATES[current][step];
      if (next === undefined) return false;
      current = next;
      changed(current);
      return true;
    },
  };
}

/** A receiver's start and end. */
export interface Lifecycle {
  start(): Promise<void>;
  /**
   * Works until nothing is due here, unless another process works: one that comes and goes would only move lanes to and fro. Then this process is
   * no worker any more, unless others still call this, or `start` was called.
   */
  workUntilIdle(): Promise<void>;
  close(drainMs: number): Promise<Closed>;
  /** @throws ClosedError `closed` */
  assertOpen(): void;
  role(): Stats["role"];
  /** Why the last `start()` rejected; undefined if it did not, or a later one succeeded. */
  startFailure(): { readonly error: unknown } | undefined;
}

export interface LifecycleDeps {
  readonly states: ReceiverStates;
  readonly inbox: Pick<WritingInbox, "unref">;
  readonly opening: Opening;
  readonly secrets: SecretLookup;
  readonly handlers: Handlers;
  readonly work: Work;
  readonly direct: DirectHandling;
  readonly store: DeliveryStore;
  readonly watch: Pick<InboxWatch, "stop">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Time for an inbox to close, after the time that its handlers had. */
const INBOX_CLOSE_MS = 1_000;

export function createLifecycle(deps: LifecycleDeps): Lifecycle {
  const { states, inbox, opening, secrets, handlers, work, direct, store, watch, clock, log } = deps;
  /** `close` gives up a start: an inbox that never answers must not keep `start()` pending. */
  let starting: { readonly done: Promise<void>; readonly giveUp: () => void } | undefined;
  let closing: Promise<Closed> | undefined;
  let startFailure: { readonly error: unknown } | undefined;
  /** `start` was called: this process is to work until it closes. */
  let isToStay = false;
  /** Calls of `workUntilIdle`. */
  let visits = 0;
  let leaving: Promise<void> | undefined;

  function assertOpen(): void {
    if (states.isClosing) throw toClosed();
  }

  async function start(): Promise<void> {
    await leaving;
    try {
      work.assertPossible();
      secrets.assert();
      handlers.seal();
      await opening.opened();
      if (states.take("start"))
        await work.start({
          begun: () => states.take("begun") || states.current === "working",
          ended: () => states.take("ended"),
        });
      states.take("stood-by");
      startFailure = undefined;
    } catch (error) {
      startFailure = { error };
      if (states.take("start-failed")) work.end();
      throw error;
    }
  }

  const isReceiving = (): boolean => roleIn(states.current) === "receiving";

  /** One at a time. */
  async function startOnce(): Promise<void> {
    assertOpen();
    if (!isReceiving()) return;
    const mine = (starting ??= begin());
    try {
      await mine.done;
    } finally {
      // The next call tries again.
      if (starting === mine) starting = undefined;
    }
  }

  function begin(): NonNullable<typeof starting> {
    const { promise, reject } = Promise.withResolvers<never>();
    return { done: Promise.race([start(), promise]), giveUp: () => reject(toClosed()) };
  }

  /** After the last visit, however it ended. */
  async function leave(): Promise<void> {
    if (visits > 0 || isToStay || isReceiving()) return;
    leaving = work.leave()?.finally(() => (leaving = undefined));
    if (leaving !== undefined) states.take("left");
    await leaving;
  }

  async function close(drainMs: number): Promise<Closed> {
    states.take("close");
    starting?.giveUp();
    const stored = withTimeout(drainMs, store.drained(), { clock, late: undefined });
    const [worked, handled] = await Promise.all([work.stop(drainMs), direct.stop(drainMs), stored]);
    watch.stop(); // what hangs in the inbox must not keep it open
    const closed = closeInbox().then(() => true);
    const isClosed = worked.stuck === 0 && (await withTimeout(INBOX_CLOSE_MS, closed, { clock, late: false }));
    if (!isClosed) inbox.unref?.();
    return { done: worked.done + handled.done, released: worked.released, stuck: worked.stuck + handled.stuck };
  }

  /** A handler that outlives the close still settles: the inbox is closed after it. */
  async function closeInbox(): Promise<void> {
    try {
      await work.ended();
      await opening.close();
    } catch (error) {
      catchRejection(error);
      log.error({ err: error, code: "inbox-close-failed" }, "the inbox failed to close");
    }
    states.take("closed");
  }

  return {
    async start() {
      isToStay = true;
      await startOnce();
    },
    async workUntilIdle() {
      visits += 1;
      try {
        await opening.opened();
        await leaving;
        if (!isReceiving() || !(await work.othersDo())) await startOnce();
      } finally {
        // Another call may have begun it, and have ended before this one.
        if (!isReceiving()) await work.idle();
        visits -= 1;
        await leave();
      }
    },
    close: (drainMs) => (closing ??= close(drainMs)),
    assertOpen,
    role: () => roleIn(states.current),
    startFailure: () => startFailure,
  };
}

function roleIn(state: ReceiverState): Stats["role"] {
  return state === "standby" || state === "working" ? state : "receiving";
}

/**
 * The budget of `close()`, milliseconds.
 * @throws UsageError `option-invalid`
 */
export function toDrainMs(options: { readonly drainMs?: number | undefined }): number {
  assertOptions("close", options, { drainMs: true });
  const { drainMs: value = 10_000 } = options;
  return wholeNumber({ where: "close", name: "drainMs", value, least: 0, most: LONGEST_TIMER_MS });
}
