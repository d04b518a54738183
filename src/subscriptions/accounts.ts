import PQueue from "p-queue";
import type { Client } from "../client.ts";
import { HooklineError } from "../errors.ts";
import type { Id } from "../protocol/event-types.ts";
import { describeThrown } from "../thrown.ts";

/** Gives the client of an account, such as what `clients` of `hookline/client` returns. */
export type ClientOf = (accountId: Id) => Client | Promise<Client>;

/** What failed for an account. */
export interface AccountFailure {
  readonly accountId: Id;
  readonly error: unknown;
}

/** A creation waits for the receiver, 30 s at worst: accounts do not wait for each other. */
const ACCOUNTS_AT_ONCE = 8;

/** Runs a task for each account, some at once. One that fails keeps no other from running. */
export async function forEachAccount(
  accountIds: Iterable<Id>,
  run: (accountId: Id) => Promise<void>,
): Promise<readonly AccountFailure[]> {
  const queue = new PQueue({ concurrency: ACCOUNTS_AT_ONCE });
  const failures: AccountFailure[] = [];
  const tasks = [...accountIds].map((accountId) => async () => {
    try {
      await run(accountId);
    } catch (error) {
      failures.push({ accountId, error });
    }
  });
  await queue.addAll(tasks);
  return failures;
}

const MOST_SHOWN = 5;

/** One error of all that failed; the first one's fix is its own. */
export function toFailed(failures: readonly AccountFailure[]): HooklineError {
  const shown = failures
    .slice(0, MOST_SHOWN)
    .map(({ accountId, error }) => `Account ${accountId}: ${describeThrown(error).message}`);
  const more = failures.length - shown.length;
  const errors = failures.map(({ error }) => error);
  return new HooklineError(
    "subscriptions-failed",
    `Not all subscriptions are as desired. ${shown.join(" ")}${more > 0 ? ` And ${more} more.` : ""}`,
    { cause: errors.length === 1 ? errors[0] : new AggregateError(errors) },
  );
}
