import { assertFunction, assertOptions, kindOf, wholeNumber } from "../assert.ts";
import type { Client } from "../client.ts";
import { ClosedError, isHooklineError, RetryLater, UsageError, type Clock, type Id, type Receiver } from "../index.ts";
import { toProblems } from "../receiver/health/problem-catalog.ts";
import { internalsOf } from "../receiver/internals.ts";
import { createPlaceStore } from "./places.ts";
import { runInLane } from "./run-in-lane.ts";
import type { ApplyScope, KnownScope, SyncScope } from "./scopes.ts";
import {
  FAMILIES,
  type FamilyRules,
  type SyncFamily,
  type SyncRecords,
  type SyncSource,
  type WindowDays,
} from "./sources.ts";
import { createSyncResource, keyOf } from "./continue-or-restart.ts";
import type { TokenStore } from "./token-store.ts";

/** Options of {@link deltaSync}. @typeParam T the records */
export interface DeltaSyncOptions<T> {
  /** The client of an account, such as `clients(optionsOf)` of `hookline/client` gives it. */
  client: (accountId: Id) => Client | Promise<Client>;
  /** How far each sync is: `sqliteTokens(receiver)`, or get and set over the database of the records. */
  tokens: TokenStore;
  /** Inserts or replaces records in your copy. A page may come again, with the same records or newer ones. */
  apply(records: readonly T[], scope: ApplyScope): Promise<unknown>;
  /** Removes records from your copy; ids that it does not have are to be ignored. */
  remove(ids: readonly string[], scope: ApplyScope): Promise<unknown>;
  /**
   * The ids of your copy inside the window. Asked when a sync begins anew: what the service does not list any more goes to `remove`. Without
   * it deletions may be missed once tokens have expired, and `health()` says so.
   */
  known?(scope: KnownScope): AsyncIterable<string> | Iterable<string>;
  /**
   * What is synced of messages and events, days before and after the start of a sync. `daysAhead` is of calendars alone, and moves: a sync
   * begins anew once a quarter of it has passed.
   *
   * @default calendars: 30 past and 365 ahead; messages: all
   */
  window?: { daysPast: number; daysAhead?: number | undefined } | undefined;
  /** As for a handler: tokens are its own, too. @default "default" */
  consumer?: string | undefined;
}

/** Syncs of one family. */
export interface ResourceSync {
  /**
   * Brings the copy of one account in step now: its first walk, or what changed since the last one. It waits for a run of the same resource
   * that is under way, and while the service prepares the sync.
   *
   * @param resource @default the messages, the primary calendar, the contacts, or the default task list
   * @throws UsageError `sync-not-working` in a process that does not work; and what the client, `apply` and `remove` throw. On an inbox on
   * which many work, it may run in another process: HooklineError `sync-failed` with what those threw, `sync-late` after ten minutes
   */
  run(accountId: Id, resource?: string): Promise<void>;
}

/** Time for a call of the handler: the next one goes on where it stopped, milliseconds. */
const CALL_TIMEOUT_MS = 600_000;
/** How long `run` waits where it is asked to come later, milliseconds. */
const RUN_WAITS_MS = 600_000;
const MAX_DAYS = 36_525;
const NO_WINDOW: WindowDays = { daysPast: undefined, daysAhead: undefined };

const ALLOWED: Readonly<Record<keyof DeltaSyncOptions<unknown>, true>> = {
  client: true,
  tokens: true,
  apply: true,
  remove: true,
  known: true,
  window: true,
  consumer: true,
};

/**
 * Keeps your copy of messages, events, contacts or tasks in step: registers the `.changes` handler of the family, which walks what was updated, then what was
 * deleted. A token is saved only after `apply` or `remove` has resolved for all of its page.
 *
 * @throws UsageError `option-invalid`, `handler-doubled`, `receiver-invalid`
 * @see protocol 4.1, "Calendar sync" and "Email sync"
 * @example
 * const sync = deltaSync(receiver, "email", { client, tokens: sqliteTokens(receiver), apply, remove, known });
 * await receiver.start();
 * await sync.run(accountId);
 */
export function deltaSync<F extends SyncFamily>(
  receiver: Receiver,
  family: F,
  options: DeltaSyncOptions<SyncRecords[F]>,
): ResourceSync {
  const { clock, state, workers, problemSources } = internalsOf(receiver);
  const rules = toRules(family);
  const days = assertAll(options, rules);
  const incomplete = new Map<string, SyncScope>();
  const running = new Map<string, Promise<void>>();
  const syncResource = createSyncResource<SyncRecords[F]>({
    ...options,
    known: options.known?.bind(options),
    places: createPlaceStore(options.tokens, options.consumer),
    days,
    now: () => clock.now(),
    noteIncomplete(scope, isIncomplete) {
      if (isIncomplete) incomplete.set(keyOf(scope), scope);
      else incomplete.delete(keyOf(scope));
    },
  });

  function sourceOf(resource: string): SyncSource<SyncRecords[F]> {
    const source = rules.sourceOf(resource);
    if (source !== undefined) return source;
    throw new UsageError(
      "option-invalid",
      `run() got a resource that has no ${family}, expected one such as ${rules.resource}.`,
    );
  }

  /** One after the other for each resource, in this process; the lane of `.changes` does it for handlers of all processes. */
  function syncAlone(scope: SyncScope, proceed: () => void): Promise<void> {
    const source = sourceOf(scope.resource);
    const key = keyOf(scope);
    const before = running.get(key) ?? Promise.resolve();
    const mine = before.catch(() => {}).then(() => syncResource({ scope, source, proceed }));
    running.set(key, mine);
    const done = (): unknown => running.get(key) === mine && running.delete(key);
    mine.then(done, done);
    return mine;
  }

  /** Two processes that sync a resource at once could leave an older record in the copy. */
  function assertWorking(): void {
    const current = state();
    if (current === "closing" || current === "closed") throw new ClosedError("closed", "The receiver is closed.");
    if (workers === undefined || current === "working") return;
    throw new UsageError(
      "sync-not-working",
      `run() was called while this process does not work on the inbox: it is ${current}.`,
      {
        fix: 'Call it after `receiver.start()`, in the process whose `stats().role` is "working": handlers sync there, too. Where that is another process, note the account for it. A function that only syncs takes `forwardInbox(async () => {})`, and no start().',
      },
    );
  }

  problemSources.add(() =>
    toProblems(
      "sync-incomplete",
      [...incomplete.values()].map(({ accountId, resource }) => `It is ${resource} of account ${accountId}.`),
    ),
  );
  receiver.on(
    `${family}.changes` as "email.changes",
    ({ accountId, resource }, { signal }) => syncAlone({ accountId, resource, signal }, () => signal.throwIfAborted()),
    { consumer: options.consumer, timeoutMs: CALL_TIMEOUT_MS },
  );

  return {
    async run(accountId, resource = rules.resource) {
      wholeNumber({ where: "run", name: "accountId", value: accountId, least: 0 });
      if (workers === "many") {
        sourceOf(resource);
        assertWorking();
        const run = { scope: { accountId, resource }, family, consumer: options.consumer ?? "default" };
        return runInLane(receiver, { ...run, proceed: assertWorking, waitsMs: RUN_WAITS_MS });
      }
      const { signal } = new AbortController();
      const begunAt = clock.now();
      for (;;) {
        assertWorking();
        try {
          return await syncAlone({ accountId, resource, signal }, assertWorking);
        } catch (error) {
          const waitMs = isHooklineError(error, "retry-later")
            ? (error as RetryLater).delayMs(clock.now())
            : Number.NaN;
          if (!(clock.now() - begunAt + waitMs <= RUN_WAITS_MS)) throw error;
          await sleep(clock, waitMs);
        }
      }
    },
  };
}

function toRules<F extends SyncFamily>(family: F): FamilyRules<SyncRecords[F]> {
  if (Object.hasOwn(FAMILIES, family)) return FAMILIES[family];
  throw new UsageError(
    "option-invalid",
    `deltaSync got ${kindOf(family)} for the family, expected one of ${Object.keys(FAMILIES).join(", ")}.`,
  );
}

/** @throws UsageError `option-invalid` */
function assertAll<T>(options: DeltaSyncOptions<T>, rules: FamilyRules<unknown>): WindowDays {
  const where = "deltaSync";
  assertOptions(where, options, ALLOWED);
  const { tokens, window } = options as Partial<DeltaSyncOptions<T>>;
  for (const name of ["client", "apply", "remove"] as const) assertFunction(`${where} for ${name}`, options[name]);
  if (options.known !== undefined) assertFunction(`${where} for known`, options.known);
  for (const name of ["get", "set"] as const) assertFunction(`${where} for tokens.${name}`, tokens?.[name]);
  if (window === undefined) return rules.days ?? NO_WINDOW;
  if (rules.days === undefined)
    throw new UsageError("option-invalid", "deltaSync got window, which only messages and calendars have.");
  assertOptions(`${where} for window`, window, { daysPast: true, daysAhead: true });
  const { daysPast, daysAhead = rules.days.daysAhead } = window;
  wholeNumber({ where, name: "window.daysPast", value: daysPast, least: 0, most: MAX_DAYS });
  if (daysAhead !== undefined && rules.days.daysAhead === undefined)
    throw new UsageError("option-invalid", "deltaSync got window.daysAhead, which only calendars have.");
  if (daysAhead !== undefined)
    wholeNumber({ where, name: "window.daysAhead", value: daysAhead, least: 1, most: MAX_DAYS });
  return { daysPast, daysAhead };
}

function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.setTimer(resolve, ms));
}
