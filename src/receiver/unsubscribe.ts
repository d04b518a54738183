import type { ContextServices } from "../dispatch/context.ts";
import { HooklineError, UsageError } from "../errors.ts";
import type { Tombstones } from "../inbox/port/tombstones.ts";
import type { Logger } from "../logger.ts";
import type { Observers } from "../observers.ts";
import type { Id } from "../protocol/events.ts";
import type { UnsubscribeRateLimit } from "../ingest/unsubscribe-rate-limit.ts";
import { toReason } from "../ingest/to-reason.ts";

/** Puts tombstones, and lifts them. */
export interface Unsubscriber {
  /** By the user's own call: never braked. */
  put(tombstone: {
    readonly subscription: Id;
    readonly source: string | undefined;
    readonly reason: string;
  }): Promise<void>;
  /** By a handler: shares its brake with the gate. */
  readonly byHandler: ContextServices["unsubscribe"];
  lift(subscription: Id, source: string | undefined): Promise<void>;
}

export interface UnsubscriberParts {
  /** Resolves when the inbox is open. */
  readonly opened: () => Promise<void>;
  /** For the user's own calls: handlers may go on while the receiver closes. @throws ClosedError `closed` */
  readonly assertOpen: () => void;
  readonly tombstones: Tombstones;
  readonly brake: UnsubscribeRateLimit;
  readonly log: Logger;
  readonly observers: Observers;
  /** A tombstone was put. */
  readonly unwanted: (subscription: Id, source: string | undefined) => void;
}

export function createUnsubscriber(parts: UnsubscriberParts): Unsubscriber {
  const { opened, assertOpen, tombstones, brake, log, observers, unwanted } = parts;
  const put: Unsubscriber["put"] = async (tombstone) => {
    const { subscription, source, reason } = tombstone;
    await opened();
    await tombstones.put(tombstone);
    unwanted(subscription, source);
    log.warn(
      { code: "unsubscribed", subscription, source, reason },
      "a subscription is unwanted: its deliveries are answered 422 from now on",
    );
    observers.notify("unsubscribed", () => ({ subscription, reason }));
  };

  return {
    async put(tombstone) {
      assertOpen();
      await put(tombstone);
    },
    async byHandler({ subscription }, source, given) {
      const reason = toReason(given);
      if (subscription === undefined)
        throw new UsageError("subscription-invalid", "This event names no subscription.", {
          fix: "Look at `event.reason`: what could not be read cannot be unsubscribed.",
        });
      if (!brake.allows(subscription, source)) {
        log.error(
          { code: "brake-empty", subscription, reason },
          "handlers unsubscribe more than `maxUnsubscribesPerHour`: it is not done",
        );
        throw new HooklineError(
          "brake-empty",
          `More than \`gate.maxUnsubscribesPerHour\` subscriptions were unsubscribed within the hour; ${subscription} was not.`,
          {
            fix: "Look for a bug first; then raise it, or call `receiver.unsubscribe`, which is not braked.",
          },
        );
      }
      await put({ subscription, source, reason });
    },
    async lift(subscription, source) {
      assertOpen();
      await opened();
      await tombstones.lift(subscription, source);
      log.info({ code: "resubscribed", subscription, source }, "a subscription is wanted again");
    },
  };
}
