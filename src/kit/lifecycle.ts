import type { Clock } from "../clock.ts";
import type { DirectHandling } from "../dispatch/handle.ts";
import type { Handlers } from "../dispatch/handlers.ts";
import { ClosedError } from "../errors.ts";
import type { WritingInbox } from "../inbox/port.ts";
import type { Logger } from "../log.ts";
import type { Keeper } from "../receiver/keep.ts";
import type { SecretLookup } from "../receiver/ring.ts";
import { within } from "../within.ts";
import type { Closed, Stats } from "./face.ts";
import type { Opening } from "./opening.ts";
import type { Work } from "./work.ts";

/** A receiver's start and end. */
export interface Lifecycle {
  start(): Promise<void>;
  close(drainMs: number): Promise<Closed>;
  /** `close` was called. */
  closing(): boolean;
  /** @throws ClosedError `closed` */
  assertOpen(): void;
  role(): Stats["role"];
}

export interface LifecycleParts {
  readonly inbox: WritingInbox;
  readonly opening: Opening;
  readonly secrets: SecretLookup;
  readonly handlers: Handlers;
  readonly work: Work;
  readonly direct: DirectHandling;
  readonly keeper: Keeper;
  readonly clock: Clock;
  readonly log: Logger;
}

/** So long an inbox may take to close, beyond the time that its handlers had. */
const INBOX_CLOSE_MS = 1_000;

export function createLifecycle(parts: LifecycleParts): Lifecycle {
  const { inbox, opening, secrets, handlers, work, direct, keeper, clock, log } = parts;
  let starting: Promise<void> | undefined;
  let closing: Promise<Closed> | undefined;

  function assertOpen(): void {
    if (closing === undefined) return;
    throw new ClosedError("closed", "The receiver is closed.", { fix: "Make a new one with `createReceiver`." });
  }

  async function start(): Promise<void> {
    work.assertPossible();
    secrets.assert();
    handlers.seal();
    await opening.opened();
    assertOpen();
    await work.start();
    assertOpen();
  }

  async function close(drainMs: number): Promise<Closed> {
    const kept = within(drainMs, keeper.drained(), { clock, late: undefined });
    const [worked, handled] = await Promise.all([work.stop(drainMs), direct.stop(drainMs), kept]);
    const closed = closeInbox();
    if (worked.stuck === 0) await within(INBOX_CLOSE_MS, closed, { clock, late: undefined });
    else inbox.unref?.();
    return { done: worked.done + handled.done, released: worked.released, stuck: worked.stuck + handled.stuck };
  }

  /** A handler that outlives the close still settles: its inbox is closed after it. */
  async function closeInbox(): Promise<void> {
    if (!opening.begun()) return;
    try {
      await work.ended();
      await inbox.close();
    } catch (error) {
      log.error({ err: error, code: "inbox-close-failed" }, "the inbox did not close well");
    }
  }

  return {
    async start() {
      assertOpen();
      const begun = (starting ??= start());
      try {
        await begun;
      } catch (error) {
        // What was missing may be there next time.
        if (starting === begun) starting = undefined;
        throw error;
      }
    },
    close: (drainMs) => (closing ??= close(drainMs)),
    closing: () => closing !== undefined,
    assertOpen,
    role() {
      if (work.working()) return "working";
      return starting === undefined || closing !== undefined ? "receiving" : "standby";
    },
  };
}
