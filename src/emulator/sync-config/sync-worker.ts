import type { Clock, Timer } from "../../clock.ts";
import { MODULES, type Module } from "./schemas.ts";

/** @see protocol 3, sync run state */
type SyncState = "IDLE" | "REQUESTED" | "QUEUED" | "EXECUTING";

/** How long a run stays in each state; how one follows another is not shown. */
const STEPS: readonly { readonly state: SyncState; readonly ms: number }[] = [
  { state: "REQUESTED", ms: 1_000 },
  { state: "QUEUED", ms: 1_000 },
  { state: "EXECUTING", ms: 5_000 },
];

/** What went wrong in the last run. */
interface SyncProblem {
  readonly svcId: number;
  readonly message: string;
}

/** The sync of one user. */
export interface SyncWorker {
  /** Does nothing while a run is under way. */
  start(): void;
  /** The state, as `GET /sync` shows it. @see protocol 2.2, sync status */
  status(): object;
  readonly needReview: readonly Module[];
  /** Activates modules: they are no longer in review. @see protocol 3 */
  allow(modules: readonly Module[]): void;
  stop(): void;
}

/** What a worker needs. */
export interface SyncWorkerDeps {
  readonly clock: Clock;
  /** Locked templates provide for everything: nothing is reviewed. */
  readonly skipsReview: boolean;
  /** Services that a run cannot reach, as of its end. */
  readonly problems: () => readonly SyncProblem[];
}

export function createSyncWorker({ clock, skipsReview, problems }: SyncWorkerDeps): SyncWorker {
  let needReview: readonly Module[] = skipsReview ? [] : MODULES;
  let state: SyncState = "IDLE";
  let timer: Timer | undefined;
  let lastRequest: number | undefined;
  let lastSynced: number | undefined;
  let errors: readonly SyncProblem[] = [];
  let errorAt: number | undefined;

  function step(nth: number): void {
    const next = STEPS[nth];
    if (next !== undefined) {
      ({ state } = next);
      timer = clock.setTimer(() => step(nth + 1), next.ms);
      return;
    }
    state = "IDLE";
    lastSynced = clock.now();
    errors = problems();
    errorAt = errors.length > 0 ? lastSynced : undefined;
  }

  return {
    start() {
      if (state !== "IDLE") return;
      lastRequest = clock.now();
      step(0);
    },
    status: () => ({
      userSyncEnabled: needReview.length < MODULES.length,
      pkgCheckFailed: false,
      userLastSynced: timeOf(lastSynced),
      lastRequest: timeOf(lastRequest),
      syncState: state,
      needReview: needReview.length === 0 ? null : needReview,
      errors,
      errMessage: errors[0]?.message ?? null,
      errSvcId: errors[0]?.svcId ?? null,
      errTimestamp: timeOf(errorAt),
    }),
    get needReview() {
      return needReview;
    },
    allow(modules) {
      needReview = needReview.filter((module) => !modules.includes(module));
    },
    stop: () => timer?.clear(),
  };
}

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
