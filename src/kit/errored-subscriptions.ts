import type { Delivery } from "../inbox/delivery.ts";
import type { EventMap } from "../protocol/events.ts";

/** Subscriptions in trouble, as far as this process was told. */
export interface ErroredSubscriptions {
  /** A lifecycle notice came, whether anybody handles it or not. */
  heard(notice: LifecycleNotice, delivery: Pick<Delivery, "source" | "sentAt">): void;
  /** It is unwanted now: no `active` will come. Without a source: of every source. */
  forget(subscription: number, source: string | undefined): void;
  /** Those in trouble, in the order in which they were told. */
  list(): readonly ErroredSubscription[];
}

type LifecycleNotice = EventMap["lifecycle.error" | "lifecycle.active"];

/** One in trouble. */
export interface ErroredSubscription {
  readonly subscription: number;
  readonly accountId: number;
  readonly resource: string;
  readonly source: string | undefined;
  /** The service's own words; may be empty. */
  readonly error: string;
}

/** Ids come from signed deliveries only, but of accounts there is no end. */
const MOST = 1_000;

/** @param most kept; beyond it those that work are forgotten first, then the oldest */
export function createErroredSubscriptions(most = MOST): ErroredSubscriptions {
  /** By source, subscription and resource. Those that work again stay for a while: a late `error` is older than their `active`. */
  const known = new Map<string, ErroredSubscription & { readonly sentAt: number; readonly errored: boolean }>();

  /** For one that works, nothing in trouble is forgotten. */
  function hasRoom(errored: boolean): boolean {
    if (known.size < most) return true;
    const working = [...known.keys()].find((key) => known.get(key)?.errored === false);
    const [oldest] = working === undefined && errored ? known.keys() : [working];
    return oldest !== undefined && known.delete(oldest);
  }

  return {
    heard(notice, { source, sentAt }) {
      const { subscription, accountId, resource } = notice;
      const key = JSON.stringify([source, subscription, resource]);
      const last = known.get(key);
      if (last !== undefined && sentAt < last.sentAt) return;
      const errored = notice.type === "lifecycle.error";
      const error = errored ? notice.error : "";
      known.delete(key);
      if (hasRoom(errored)) known.set(key, { subscription, accountId, resource, source, error, sentAt, errored });
    },
    forget(subscription, source) {
      for (const [key, one] of known)
        if (one.subscription === subscription && (source === undefined || one.source === source)) known.delete(key);
    },
    list: () => [...known.values()].filter(({ errored }) => errored),
  };
}
