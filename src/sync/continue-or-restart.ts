import type { Client, DeletedRecord, SyncStart } from "../client.ts";
import { isHooklineError, RetryLater, type Id } from "../index.ts";
import type { Chain, Place, Places, PlaceStore } from "./places.ts";
import type { ApplyScope, KnownScope, SyncScope } from "./scopes.ts";
import type { SyncSource, SyncWindow, WindowDays } from "./sources.ts";
import { walk, type WalkResult } from "./walk-pages.ts";

/** What syncs of one family need. */
export interface SyncResourceDeps<T> {
  readonly client: (accountId: Id) => Client | Promise<Client>;
  readonly places: PlaceStore;
  readonly apply: (records: readonly T[], scope: ApplyScope) => Promise<unknown>;
  readonly remove: (ids: readonly string[], scope: ApplyScope) => Promise<unknown>;
  readonly known: ((scope: KnownScope) => AsyncIterable<string> | Iterable<string>) | undefined;
  readonly days: WindowDays;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called at the end of each sync: whether deletions may be missing in the copy. */
  readonly noteIncomplete: (scope: SyncScope, isIncomplete: boolean) => void;
}

/** One sync of one resource. */
export interface SyncCall<T> {
  readonly scope: SyncScope;
  readonly source: SyncSource<T>;
  /** Throws where the sync is to stop. */
  readonly proceed: () => void;
}

/** While the service prepares a sync, it is asked this often, milliseconds. */
const NOT_READY_MS = 5_000;
/** So many ids are removed in one call. */
const MAX_REMOVED = 500;
const DAY_MS = 86_400_000;
/** A sync begins anew after this part of `daysAhead`. With a run in each such time, half of it is never used up. */
const MOVES_AFTER = 1 / 4;

/** 410; or 400, because the token is all that such a request has. */
function isRefused(error: unknown): boolean {
  return isHooklineError(error, "service-token-expired") || isHooklineError(error, "service-bad-request");
}

/**
 * Brings the copy of a resource in step: goes on from the stored tokens, or starts a sync. The caller sees to it that a resource has one call
 * at a time.
 */
export function createSyncResource<T extends { readonly id: string }>(deps: SyncResourceDeps<T>) {
  const { places, known, days, now, noteIncomplete } = deps;
  /** By resource: ids of the copy that a new listing has not had yet. */
  const missing = new Map<string, { readonly startId: string; readonly ids: Set<string> }>();

  /** Walks `updated` to its end, then `deleted`. Gives the error of a token that the service refuses. */
  async function walkBoth(from: Places, call: SyncCall<T>): Promise<unknown> {
    const { scope, source, proceed } = call;
    const chains = source.chains(await deps.client(scope.accountId));
    const { signal } = scope;
    let { updated, deleted } = from;

    const partsOf = (chain: Chain) => ({
      save: (place: Place) => places.save(scope, chain, place),
      proceed,
      isRefused,
    });
    const scopeOf = (chain: Chain, next: Place): ApplyScope => ({ ...scope, saves: places.entry(scope, chain, next) });
    const unlisted = updated.isComparing && missing.get(keyOf(scope))?.ids;

    const walkUpdated = (): Promise<WalkResult> =>
      walk<T>(updated, {
        ...partsOf("updated"),
        fetchPage: ({ delta, page }) => chains.updated({ deltaToken: delta, signal }).page(page),
        async use(records, next) {
          if (records.length > 0) await deps.apply(records, scopeOf("updated", next));
          if (unlisted) for (const { id } of records) unlisted.delete(id);
        },
      });
    const walkDeleted = (): Promise<WalkResult> =>
      walk<DeletedRecord>(deleted, {
        ...partsOf("deleted"),
        fetchPage: ({ delta, page }) => chains.deleted({ deltaToken: delta, signal }).page(page),
        async use(records, next) {
          const ids = records.map(({ id }) => id);
          if (ids.length > 0) await deps.remove(ids, scopeOf("deleted", next));
        },
      });

    // One that was interrupted is older than what `updated` says now.
    if (deleted.page !== undefined) {
      const result = await walkDeleted();
      if ("refusal" in result) return result.refusal;
      deleted = result.place;
    }
    for (let isListed = false; !isListed;) {
      const result = await walkUpdated();
      if ("refusal" in result) return result.refusal;
      updated = result.place;
      // A record that changes during a walk is in the next one: what no walk had is known after one that nothing can change in.
      isListed = !unlisted || result.isSinglePage;
    }
    if (unlisted) {
      const compared = { ...updated, isComparing: undefined };
      for (const ids = [...unlisted]; ids.length > 0;) {
        const batch = ids.splice(0, MAX_REMOVED);
        proceed();
        await deps.remove(batch, scopeOf("updated", ids.length > 0 ? updated : compared));
      }
      await places.save(scope, "updated", compared);
      missing.delete(keyOf(scope));
    }
    const result = await walkDeleted();
    return "refusal" in result ? result.refusal : undefined;
  }

  /** Stores the tokens of a new sync. */
  async function begin(started: SyncStart, { scope, window, at, isIncomplete }: Begin): Promise<Places> {
    const start = { id: crypto.randomUUID(), at, window: toText(days) };
    const ids = new Set<string>();
    if (known !== undefined) for await (const id of known({ ...scope, window })) ids.add(id);
    missing.delete(keyOf(scope));
    if (ids.size > 0) missing.set(keyOf(scope), { startId: start.id, ids });
    const deleted: Place = { start, delta: started.syncDeletedToken };
    const updated: Place = {
      start,
      delta: started.syncUpdatedToken,
      ...(ids.size > 0 && { isComparing: true as const }),
      ...(isIncomplete && { isIncomplete: true as const }),
    };
    await places.save(scope, "deleted", deleted);
    await places.save(scope, "updated", updated);
    return { updated, deleted };
  }

  function isStartDue({ updated: { start, isIncomplete } }: Places, at: number): boolean {
    if (start.window !== toText(days) || (isIncomplete === true && known !== undefined)) return true;
    // The clock was ahead when it started, and so is its window.
    if (start.at - at > DAY_MS) return true;
    return days.daysAhead !== undefined && at - start.at >= days.daysAhead * DAY_MS * MOVES_AFTER;
  }

  /** A listing is compared within one process: another one begins it anew. */
  function isComparable(scope: SyncScope, { start, isComparing }: Place): boolean {
    return isComparing !== true || missing.get(keyOf(scope))?.startId === start.id;
  }

  return async (call: SyncCall<T>): Promise<void> => {
    const { scope, source } = call;
    const at = now();
    const window = windowOf(days, at);
    const start = async (): Promise<SyncStart> =>
      source.start(await deps.client(scope.accountId), { ...window, days }, scope.signal);

    const stored = await places.load(scope);
    const current = stored.places && isComparable(scope, stored.places.updated) ? stored.places : undefined;
    let isIncomplete = stored.isLost || stored.places?.updated.isIncomplete === true;
    // It is stored once the old one has been walked: nothing is between the two.
    let started = current === undefined || isStartDue(current, at) ? await start() : undefined;
    if (current !== undefined) {
      const refusal = await walkBoth(current, call);
      if (refusal === undefined && started?.ready !== true) return noteIncomplete(scope, isIncomplete);
      isIncomplete ||= refusal !== undefined;
      started ??= await start();
    } else if (stored.places !== undefined) isIncomplete = true;
    if (started?.ready !== true) throw new RetryLater({ afterMs: NOT_READY_MS });

    isIncomplete &&= known === undefined;
    const refusal = await walkBoth(await begin(started, { scope, window, at, isIncomplete }), call);
    if (refusal !== undefined) throw refusal;
    noteIncomplete(scope, isIncomplete);
  };
}

interface Begin {
  readonly scope: SyncScope;
  readonly window: SyncWindow;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly isIncomplete: boolean;
}

/** Of a resource, in this process. */
export function keyOf({ accountId, resource }: Pick<SyncScope, "accountId" | "resource">): string {
  return `${accountId} ${resource}`;
}

function windowOf({ daysPast, daysAhead }: WindowDays, at: number): SyncWindow {
  return {
    from: daysPast === undefined ? undefined : new Date(at - daysPast * DAY_MS),
    until: daysAhead === undefined ? undefined : new Date(at + daysAhead * DAY_MS),
  };
}

function toText({ daysPast, daysAhead }: WindowDays): string {
  return `${daysPast ?? ""}/${daysAhead ?? ""}`;
}
