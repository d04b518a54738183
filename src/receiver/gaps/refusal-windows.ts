import type { Gap } from "../../inbox/port/gaps.ts";
import type { Envelope } from "../../protocol/event-types.ts";
import { toSubscribed } from "./known-resources.ts";

/** For each resource the time from the first refusal of a delivery that was verified until the next one that was stored. */
export interface RefusalWindows {
  refused(envelope: Envelope, source: string | undefined, at: number): void;
  /** @returns the gap that ends with it; undefined where nothing was refused, or for no longer than what is redelivered */
  stored(envelope: Envelope, source: string | undefined, at: number): Gap | undefined;
  /** Without a source: in every source. */
  forget(subscription: number, source: string | undefined): void;
  /** Nothing was refused since: `stored` need not be called. */
  readonly isEmpty: boolean;
}

/** Beyond it the first ones count: an outage that lasts is also seen by the marks. */
const MOST = 100_000;

/** @param afterMs shorter windows are no gap: the service redelivers */
export function createRefusalWindows(afterMs: number): RefusalWindows {
  const windows = new Map<
    string,
    { readonly subscription: number; readonly source: string | undefined; from: number }
  >();

  return {
    refused(envelope, source, at) {
      const key = keyOf(envelope, source);
      const { subscription } = envelope;
      if (!windows.has(key) && windows.size < MOST) windows.set(key, { subscription, source, from: at });
    },
    stored(envelope, source, at) {
      const key = keyOf(envelope, source);
      const from = windows.get(key)?.from;
      windows.delete(key);
      if (from === undefined || at - from <= afterMs) return undefined;
      return { ...toSubscribed(envelope, source), cause: "refused", from, until: at };
    },
    forget(subscription, source) {
      for (const [key, one] of windows)
        if (one.subscription === subscription && (source === undefined || one.source === source)) windows.delete(key);
    },
    get isEmpty() {
      return windows.size === 0;
    },
  };
}

function keyOf({ subscription, accountId, resource }: Envelope, source: string | undefined): string {
  return JSON.stringify([source, subscription, accountId, resource]);
}
