import PQueue from "p-queue";
import type { Client } from "../client.ts";
import type { Clock } from "../clock.ts";
import { HooklineError } from "../errors.ts";
import type { Id } from "../protocol/event-types.ts";
import { describeThrown } from "../thrown.ts";
import { withTimeout } from "../timeout.ts";

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

/** A user's function that never answers would end a watch without a word, milliseconds. */
const ANSWER_MS = 60_000;

/** @throws HooklineError `function-late`, or what the function throws */
export async function answerOf<T>(
  asked: T | Promise<T>,
  { what, clock }: { readonly what: string; readonly clock: Clock },
): Promise<T> {
  const answered = Promise.resolve(asked).then((answer) => ({ answer }));
  const inTime = await withTimeout(ANSWER_MS, answered, { clock, late: undefined });
  if (inTime !== undefined) return inTime.answer;
  throw new HooklineError("function-late", `${what} did not answer within ${ANSWER_MS / 1_000} s.`, {
    fix: "Let it give up by itself, such as by a time limit of your database's client.",
  });
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
