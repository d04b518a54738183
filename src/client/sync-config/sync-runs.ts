import type { Clock } from "../../clock.ts";
import { HooklineError } from "../../errors.ts";
import { sleep } from "../http/sleep.ts";
import type { Send } from "../http/transport.ts";
import { readAnything, readNothing } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";
import { readSyncStatus, type SyncModule, type SyncStatus } from "./sync-records.ts";

/** Runs of a user's sync. @see protocol 3, 4.2 */
export interface SyncRuns {
  /** `GET /sync` */
  status(options?: RequestOptions): Promise<SyncStatus>;
  /** `POST /sync`. @param run with `initial` it only loads data, for a review */
  start(run: { initial: boolean }, options?: RequestOptions): Promise<void>;
  /** `GET /rules/<type>/report`, while the module is in review. */
  report(module: SyncModule, options?: RequestOptions): Promise<unknown>;
  /** `PUT /rules/<type>/allowSync`: activates one module. */
  allow(module: SyncModule, options?: RequestOptions): Promise<void>;
  /** `PUT /allowSync`: activates these modules. */
  allowAll(modules: readonly SyncModule[], options?: RequestOptions): Promise<void>;
  /**
   * A run that only loads data, until it has ended; then the reports of all modules in review. Nothing is run where no module is.
   *
   * @throws HooklineError `sync-run-failed`
   */
  review(options?: RunOptions): Promise<Review>;
  /** Activates modules, then a run that writes, until it has ended. @throws HooklineError `sync-run-failed` */
  activate(modules: readonly SyncModule[], options?: RunOptions): Promise<SyncStatus>;
  /** `review`, then `activate`: for where nobody needs to look at the reports first. @throws HooklineError `sync-run-failed` */
  reviewAndActivate(options?: ReviewAndActivateOptions): Promise<Activation>;
}

/** How a run is waited for. */
export interface RunOptions {
  /** Called with each status that was read. */
  onProgress?: ((status: SyncStatus) => void) | undefined;
  /** Between two looks, milliseconds. @default 2_000 */
  pollMs?: number | undefined;
  /** Ends the waiting, not the run. */
  signal?: AbortSignal | undefined;
}

/** What is activated. */
export interface ReviewAndActivateOptions extends RunOptions {
  /** @default all that are in review */
  modules?: readonly SyncModule[] | undefined;
}

/** What a review gives. */
export interface Review {
  readonly status: SyncStatus;
  /** By module; their form is not shown. */
  readonly reports: Readonly<Record<string, unknown>>;
}

/** What was activated, after which reports. */
export interface Activation extends Review {
  readonly activated: readonly SyncModule[];
}

const POLL_MS = 2_000;
/** A request of a run that shows nothing of itself so long has been lost, milliseconds. */
const START_MS = 60_000;

export function createSyncRuns(send: Send, clock: Clock): SyncRuns {
  const status = (options?: RequestOptions): Promise<SyncStatus> =>
    send({ method: "GET", path: "/sync", read: readSyncStatus, options });

  const start = ({ initial }: { readonly initial: boolean }, options?: RequestOptions): Promise<void> =>
    // The strings, not booleans. @see protocol 4.2
    send({
      method: "POST",
      path: "/sync",
      body: { initial: String(initial) },
      read: readNothing,
      answerOptional: true,
      options,
    });

  const report = (module: SyncModule, options?: RequestOptions): Promise<unknown> =>
    send({ method: "GET", path: "/rules/{type}/report", params: { type: module }, read: readAnything, options });

  const allowAll = (modules: readonly SyncModule[], options?: RequestOptions): Promise<void> =>
    send({ method: "PUT", path: "/allowSync", body: modules, read: readNothing, answerOptional: true, options });

  /** Looks until this holds. */
  async function until(
    holds: (now: SyncStatus) => boolean,
    { onProgress, pollMs = POLL_MS, signal }: RunOptions,
  ): Promise<SyncStatus> {
    for (;;) {
      const now = await status({ signal });
      onProgress?.(now);
      if (holds(now)) return now;
      await sleep(pollMs, { clock, signal });
    }
  }

  /** Starts a run, after one that is under way, and waits for its end. */
  async function run(initial: boolean, options: RunOptions): Promise<SyncStatus> {
    const before = await until(isIdle, options);
    await start({ initial }, { signal: options.signal });
    const startedAt = clock.now();
    let hasBegun = false;
    const after = await until((now) => {
      hasBegun ||= !isIdle(now) || now.userLastSynced !== before.userLastSynced || isNewError(now, before);
      if (!hasBegun && clock.now() - startedAt > START_MS)
        throw failed(`did not begin within ${START_MS / 1_000} s of its request`);
      return hasBegun && isIdle(now);
    }, options);
    if (isNewError(after, before)) throw failed(`ended with an error${serviceOf(after)}`);
    return after;
  }

  async function review(options: RunOptions = {}): Promise<Review> {
    const { signal } = options;
    const first = await status({ signal });
    if (modulesIn(first).length === 0) return { status: first, reports: {} };
    const after = await run(true, options);
    const reports: Record<string, unknown> = {};
    for (const module of modulesIn(after)) reports[module] = await report(module, { signal });
    return { status: after, reports };
  }

  async function activate(modules: readonly SyncModule[], options: RunOptions = {}): Promise<SyncStatus> {
    if (modules.length > 0) await allowAll(modules, { signal: options.signal });
    return run(false, options);
  }

  return {
    status,
    start,
    report,
    allow: (module, options) =>
      send({
        method: "PUT",
        path: "/rules/{type}/allowSync",
        params: { type: module },
        read: readNothing,
        answerOptional: true,
        options,
      }),
    allowAll,
    review,
    activate,
    async reviewAndActivate({ modules, ...options } = {}) {
      const { status: reviewed, reports } = await review(options);
      const waiting = modulesIn(reviewed);
      const activated = modules === undefined ? waiting : waiting.filter((module) => modules.includes(module));
      return { status: await activate(activated, options), reports, activated };
    },
  };
}

function isIdle({ syncState }: SyncStatus): boolean {
  return syncState === "IDLE";
}

function modulesIn({ needReview }: SyncStatus): readonly SyncModule[] {
  return needReview ?? [];
}

function isNewError({ errTimestamp, errMessage }: SyncStatus, before: SyncStatus): boolean {
  return errMessage !== undefined && errMessage !== "" && errTimestamp !== before.errTimestamp;
}

function serviceOf({ errSvcId }: SyncStatus): string {
  return errSvcId === undefined ? "" : ` at service ${errSvcId}`;
}

function failed(what: string): HooklineError {
  return new HooklineError("sync-run-failed", `The run of the sync ${what}.`, {
    fix: "`sync.status()` has `errors`; a service with an `authRedirectUrl` is to be authorised by its user first.",
  });
}
