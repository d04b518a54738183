import type { Clock } from "../clock.ts";
import type { DirectHandling } from "../dispatch/direct-handling.ts";
import type { Handlers } from "../dispatch/handlers.ts";
import type { WritingInbox } from "../inbox/port/inbox.ts";
import type { Logger } from "../logger.ts";
import type { DeliveryStore } from "../ingest/store.ts";
import type { SecretLookup } from "../ingest/secret-lookup.ts";
import { withTimeout } from "../timeout.ts";
import type { Closed, Stats } from "./receiver-types.ts";
import { toClosed, type Opening } from "./open-inbox.ts";
import type { ReceiverStates } from "./receiver-states.ts";
import type { Work } from "./worker.ts";

/** A receiver's start and end. */
export interface Lifecycle {
  start(): Promise<void>;
  close(drainMs: number): Promise<Closed>;
  /** @throws ClosedError `closed` */
  assertOpen(): void;
  role(): Stats["role"];
  /** Why the last `start()` rejected; undefined where none did, or a later one held. */
  startFailure(): { readonly error: unknown } | undefined;
}

export interface LifecycleParts {
  readonly states: ReceiverStates;
  readonly inbox: Pick<WritingInbox, "unref">;
  readonly opening: Opening;
  readonly secrets: SecretLookup;
  readonly handlers: Handlers;
  readonly work: Work;
  readonly direct: DirectHandling;
  readonly keeper: DeliveryStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** So long an inbox may take to close, beyond the time that its handlers had. */
const INBOX_CLOSE_MS = 1_000;

export function createLifecycle(parts: LifecycleParts): Lifecycle {
  const { states, inbox, opening, secrets, handlers, work, direct, keeper, clock, log } = parts;
  /** `close` gives it up: nobody is to wait for an inbox that never answers. */
  let starting: { readonly done: Promise<void>; readonly giveUp: () => void } | undefined;
  let closing: Promise<Closed> | undefined;
  let startFailure: { readonly error: unknown } | undefined;

  function assertOpen(): void {
    if (states.isClosing) throw toClosed();
  }

  async function start(): Promise<void> {
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

  function begin(): NonNullable<typeof starting> {
    const { promise, reject } = Promise.withResolvers<never>();
    return { done: Promise.race([start(), promise]), giveUp: () => reject(toClosed()) };
  }

  async function close(drainMs: number): Promise<Closed> {
    states.take("close");
    starting?.giveUp();
    const stored = withTimeout(drainMs, keeper.drained(), { clock, late: undefined });
    const [worked, handled] = await Promise.all([work.stop(drainMs), direct.stop(drainMs), stored]);
    const closed = closeInbox();
    if (worked.stuck === 0) await withTimeout(INBOX_CLOSE_MS, closed, { clock, late: undefined });
    else inbox.unref?.();
    return { done: worked.done + handled.done, released: worked.released, stuck: worked.stuck + handled.stuck };
  }

  /** A handler that outlives the close still settles: its inbox is closed after it. */
  async function closeInbox(): Promise<void> {
    try {
      await work.ended();
      await opening.close();
    } catch (error) {
      log.error({ err: error, code: "inbox-close-failed" }, "the inbox did not close well");
    }
    states.take("closed");
  }

  return {
    async start() {
      assertOpen();
      if (ROLES[states.current] !== "receiving") return;
      const mine = (starting ??= begin());
      try {
        await mine.done;
      } finally {
        // What was missing may be there next time.
        if (starting === mine) starting = undefined;
      }
    },
    close: (drainMs) => (closing ??= close(drainMs)),
    assertOpen,
    role: () => ROLES[states.current],
    startFailure: () => startFailure,
  };
}

const ROLES: Readonly<Record<ReceiverStates["current"], Stats["role"]>> = {
  idle: "receiving",
  opening: "receiving",
  unavailable: "receiving",
  receiving: "receiving",
  starting: "receiving",
  standby: "standby",
  working: "working",
  closing: "receiving",
  closed: "receiving",
};
