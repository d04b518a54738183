import type { Gap, SubscribedResource } from "../inbox/port/gaps.ts";
import { MOST_KNOWN } from "./known-resources.ts";

/** Resources that are silent for far longer than they ever were, as far as this process knows. */
export interface UnusualSilence {
  /** Something came. */
  heard(resource: SubscribedResource, at: number): void;
  /** Without a source: in every source. */
  forget(subscription: number, source: string | undefined): void;
  forgetAccount(accountId: number): void;
  /** Those that are silent since the last call, each once for each silence. */
  found(now: number): readonly Gap[];
}

/** What is usual shows after so many deliveries. */
const LEAST_DELIVERIES = 20;
/** Silent for this many times the longest silence so far. */
const TIMES_USUAL = 3;
/** A silence of a busy resource is not unusual before, milliseconds. */
const LEAST_MS = 60 * 60 * 1_000;

interface Heard {
  count: number;
  lastAt: number;
  longestMs: number;
  isTold: boolean;
}

export function createUnusualSilence(): UnusualSilence {
  const resources = new Map<SubscribedResource, Heard>();

  return {
    heard(resource, at) {
      const one = resources.get(resource);
      if (one === undefined) {
        const [first] = resources.keys();
        if (resources.size >= MOST_KNOWN && first !== undefined) resources.delete(first);
        resources.set(resource, { count: 1, lastAt: at, longestMs: 0, isTold: false });
        return;
      }
      one.count += 1;
      // A silence in which something was missed says nothing about what is usual.
      if (!one.isTold) one.longestMs = Math.max(one.longestMs, at - one.lastAt);
      one.lastAt = at;
      one.isTold = false;
    },
    forget(subscription, source) {
      for (const one of resources.keys())
        if (one.subscription === subscription && (source === undefined || one.source === source)) resources.delete(one);
    },
    forgetAccount(accountId) {
      for (const one of resources.keys()) if (one.accountId === accountId) resources.delete(one);
    },
    found(now) {
      const gaps: Gap[] = [];
      for (const [resource, one] of resources) {
        const isUnusual = now - one.lastAt > Math.max(TIMES_USUAL * one.longestMs, LEAST_MS);
        if (one.isTold || one.count < LEAST_DELIVERIES || !isUnusual) continue;
        one.isTold = true;
        gaps.push({ ...resource, cause: "silent", from: one.lastAt, until: now });
      }
      return gaps;
    },
  };
}
