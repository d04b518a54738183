import type { Clock } from "../../clock.ts";
import { isUnauthorized } from "../../dispatch/retries/retry-errors.ts";
import type { CallResult } from "../../dispatch/retries/retry-policy.ts";
import type { NewEvent } from "../../inbox/port/delivery.ts";
import type { InboxJobs } from "../../inbox/port/jobs.ts";
import type { Logger } from "../../logger.ts";
import type { Id, SingleEvent } from "../../protocol/event-types.ts";

/** An account whose token the service refused. */
export interface UnauthorizedAccount {
  readonly accountId: Id;
  /** The last time, milliseconds since the epoch. */
  readonly at: number;
}

/** Accounts whose handlers failed with a 401 of the service, as far as this process knows. */
export interface UnauthorizedAccounts {
  /** A handler's call ended: a success of the consumer that was refused, for an event of the same family, ends the account's problem. */
  record(event: SingleEvent, result: CallResult, consumer: string): void;
  /** Offers to replay what is dead, where these events say that such an account works again. */
  expanding(events: readonly Pick<NewEvent, "event">[]): void;
  /** The account is of no interest any more. */
  forget(accountId: Id): void;
  /** The latest last. */
  list(): readonly UnauthorizedAccount[];
}

export interface UnauthorizedAccountsDeps {
  /** Undefined where it has no working half. */
  readonly jobs: () => Pick<InboxJobs, "find"> | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly log: Logger;
}

/** Known at once: beyond it the first ones are forgotten. */
const MOST = 10_000;
/** This long after the last refusal the inbox is asked whether it still has jobs of the account: another process may have run them, milliseconds. */
const ASK_AFTER_MS = 24 * 60 * 60 * 1_000;
/** It is asked again, milliseconds. */
const ASK_EVERY_MS = 60 * 60 * 1_000;

interface Refused {
  readonly at: number;
  /** Which handlers were refused. */
  readonly by: Set<string>;
  askAt: number;
}

export function createUnauthorizedAccounts({ jobs, clock, log }: UnauthorizedAccountsDeps): UnauthorizedAccounts {
  const accounts = new Map<Id, Refused>();
  let isAsking = false;

  function refused(accountId: Id, handler: string): void {
    const by = accounts.get(accountId)?.by ?? new Set();
    const at = clock.now();
    accounts.delete(accountId); // the latest last
    accounts.set(accountId, { at, by: by.add(handler), askAt: at + ASK_AFTER_MS });
    const [first] = accounts.keys();
    if (accounts.size > MOST && first !== undefined) accounts.delete(first);
  }

  /** One account at a time: there may be thousands. */
  async function ask(): Promise<void> {
    const now = clock.now();
    const due = [...accounts].find(([, { askAt }]) => now >= askAt);
    if (isAsking || due === undefined) return;
    const [accountId, account] = due;
    account.askAt = now + ASK_EVERY_MS;
    isAsking = true;
    try {
      if (!(await hasJobs(accountId)) && accounts.get(accountId) === account) accounts.delete(accountId);
    } catch (error) {
      log.warn({ err: error, code: "account-unknown", accountId }, "the inbox cannot say which jobs an account has");
    } finally {
      isAsking = false;
    }
  }

  /** Jobs that run or may be replayed. True where it is not known. */
  async function hasJobs(accountId: Id): Promise<boolean> {
    const stored = jobs();
    if (stored === undefined) return true;
    let after: string | undefined;
    do {
      const page = await stored.find({ states: ["waiting", "running", "dead"], accountId, limit: 1, after });
      if (page.jobs.length > 0) return true;
      after = page.next;
    } while (after !== undefined);
    return false;
  }

  return {
    record({ type, accountId }, result, consumer) {
      if (accountId === undefined || (result.ok && accounts.size === 0)) return;
      // Another handler of the account may not call the service at all.
      const handler = `${type.split(".", 1)[0]} ${consumer}`;
      if (result.ok && accounts.get(accountId)?.by.has(handler) === true) accounts.delete(accountId);
      else if (!result.ok && isUnauthorized(result.error)) refused(accountId, handler);
    },
    expanding(events) {
      if (accounts.size === 0) return;
      for (const { event } of events)
        if (event.type === "lifecycle.active" && accounts.has(event.accountId)) {
          const { accountId } = event;
          const fix = `Run \`hookline inbox replay --dead --account ${accountId}\`, or call receiver.jobs.replay({ state: "dead", accountId: ${accountId} }).`;
          log.warn(
            { code: "account-active", accountId, fix },
            "an account that the service refused works again: its dead jobs run only when they are replayed",
          );
        }
    },
    forget: (accountId) => void accounts.delete(accountId),
    list() {
      void ask();
      return [...accounts].map(([accountId, { at }]) => ({ accountId, at }));
    },
  };
}
