import type { Gap, SubscribedResource } from "../inbox/port/gaps.ts";
import type { Envelope } from "../protocol/event-types.ts";
import { LISTED_FAMILIES } from "./gap-problems.ts";
import { toSubscribed } from "./known-resources.ts";

/** For each resource the time from the first refusal of a delivery that was verified until the next one that was stored. */
export interface RefusalWindows {
  refused(envelope: Envelope, source: string | undefined, at: number): void;
  /** @returns the gap that ends with it; undefined where nothing was refused, or for no longer than what is redelivered */
  stored(envelope: Envelope, source: string | undefined, at: number): Gap | undefined;
  /**
   * Gaps of windows that are long enough already: the service may have given up, and then nothing is stored before the next change. Only of
   * what can be fetched: with several processes another one may have stored it, and of that a person is not to be told.
   */
  overdue(at: number): readonly Gap[];
  /** Without a source: in every source. */
  forget(subscription: number, source: string | undefined): void;
  forgetAccount(accountId: number): void;
  /** Nothing was refused since: `stored` need not be called. */
  readonly isEmpty: boolean;
}

/** Beyond it the first ones count: an outage that lasts is also seen by the marks. */
const MOST = 100_000;

/**
 * A window that nothing is refused in for so long is forgotten: another process has stored it, or the service has given up, milliseconds. While
 * there is a window, each delivery that is stored is parsed for it.
 */
const FORGET_MS = 24 * 60 * 60 * 1_000;

interface Window {
  readonly resource: SubscribedResource;
  readonly from: number;
  /** The last refusal. */
  lastAt: number;
}

/** @param afterMs shorter windows are no gap: the service redelivers */
export function createRefusalWindows(afterMs: number): RefusalWindows {
  const windows = new Map<string, Window>();

  /** How long it is, is not known where the clock went back since. */
  const isLong = (from: number, at: number): boolean => at - from > afterMs || at < from;

  /** Ends a window that is long enough. */
  function toGap(key: string, at: number): Gap | undefined {
    const window = windows.get(key);
    windows.delete(key);
    if (window === undefined || !isLong(window.from, at)) return undefined;
    return { ...window.resource, cause: "refused", from: Math.min(window.from, at), until: at };
  }

  return {
    refused(envelope, source, at) {
      const key = keyOf(envelope, source);
      const window = windows.get(key);
      if (window !== undefined) window.lastAt = at;
      else if (windows.size < MOST)
        windows.set(key, { resource: toSubscribed(envelope, source), from: at, lastAt: at });
    },
    stored: (envelope, source, at) => toGap(keyOf(envelope, source), at),
    overdue: (at) =>
      [...windows].flatMap(([key, { resource, from, lastAt }]) => {
        if (isLong(from, at) && LISTED_FAMILIES.includes(resource.family)) return toGap(key, at) ?? [];
        if (at - lastAt > FORGET_MS) windows.delete(key);
        return [];
      }),
    forget(subscription, source) {
      for (const [key, { resource: one }] of windows)
        if (one.subscription === subscription && (source === undefined || one.source === source)) windows.delete(key);
    },
    forgetAccount(accountId) {
      for (const [key, { resource: one }] of windows) if (one.accountId === accountId) windows.delete(key);
    },
    get isEmpty() {
      return windows.size === 0;
    },
  };
}

function keyOf({ subscription, accountId, resource }: Envelope, source: string | undefined): string {
  return JSON.stringify([source, subscription, accountId, resource]);
}
