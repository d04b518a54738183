import type { Clock } from "../../clock.ts";
import { isUnauthorized } from "../../dispatch/retry-errors.ts";
import type { CallResult } from "../../dispatch/retry-policy.ts";
import type { Id, SingleEvent } from "../../protocol/event-types.ts";

/** An account whose token the service refused. */
export interface UnauthorizedAccount {
  readonly accountId: Id;
  /** The last time, milliseconds since the epoch. */
  readonly at: number;
}

/** Accounts whose handlers last failed with a 401 of the service, as far as this process knows. */
export interface UnauthorizedAccounts {
  /** A handler's call ended: a success of any handler of the account ends its problem. */
  record(event: SingleEvent, result: CallResult): void;
  /** The latest last. */
  list(): readonly UnauthorizedAccount[];
}

/** An account that nothing is tried for any more, such as a deleted one, is forgotten after this, milliseconds. */
const FORGET_MS = 24 * 60 * 60 * 1_000;

export function createUnauthorizedAccounts(clock: Pick<Clock, "now">): UnauthorizedAccounts {
  const refusedAt = new Map<Id, number>();

  return {
    record({ accountId }, result) {
      if (accountId === undefined || (result.ok && refusedAt.size === 0)) return;
      if (result.ok) {
        refusedAt.delete(accountId);
      } else if (isUnauthorized(result.error)) {
        refusedAt.delete(accountId); // the latest last
        refusedAt.set(accountId, clock.now());
      }
    },
    list() {
      const now = clock.now();
      for (const [accountId, at] of refusedAt) if (now - at > FORGET_MS) refusedAt.delete(accountId);
      return [...refusedAt].map(([accountId, at]) => ({ accountId, at }));
    },
  };
}
