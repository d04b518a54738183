import type { SingleEvent } from "../protocol/events.ts";
import type { ErroredSubscription } from "./port/subscriptions.ts";

/** Subscriptions in trouble, in memory. */
export interface ErroredSubscriptions {
  /** A lifecycle notice came, whether anybody handles it or not. An older one than the last changes nothing. */
  record(notice: LifecycleNotice, origin: { readonly source: string | undefined; readonly sentAt: number }): void;
  /** It is unwanted now: no `active` will come. Without a source: of every source. */
  forget(subscription: number, source: string | undefined): void;
  forgetAccount(accountId: number): void;
  /** Those in trouble, in the order in which they were told. */
  list(): readonly ErroredSubscription[];
}

/** What a lifecycle notice says. */
export interface LifecycleNotice extends Pick<ErroredSubscription, "subscription" | "accountId" | "resource"> {
  /** Undefined: it works. */
  readonly error: string | undefined;
}

/** Ids come from signed deliveries only, but of accounts there is no end. */
const MOST = 1_000;
/** Of the service's own words, which may be a whole page. */
const MOST_CHARACTERS = 2_000;

/** What an event says of its subscription, cut to what is worth keeping; undefined for all but lifecycle notices. */
export function noticeOf(event: SingleEvent): LifecycleNotice | undefined {
  if (event.type !== "lifecycle.error" && event.type !== "lifecycle.active") return undefined;
  const { subscription, accountId, resource } = event;
  const error = event.type === "lifecycle.error" ? cut(event.error) : undefined;
  return { subscription, accountId, resource: cut(resource), error };
}

/** @param most stored; beyond it those that work are forgotten first, then the oldest */
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
    record({ error, ...one }, { source, sentAt }) {
      const key = JSON.stringify([source, one.subscription, one.resource]);
      const last = known.get(key);
      if (last !== undefined && sentAt < last.sentAt) return;
      const errored = error !== undefined;
      known.delete(key);
      if (hasRoom(errored)) known.set(key, { ...one, source, error: error ?? "", sentAt, errored });
    },
    forget(subscription, source) {
      for (const [key, one] of known)
        if (one.subscription === subscription && (source === undefined || one.source === source)) known.delete(key);
    },
    forgetAccount(accountId) {
      for (const [key, one] of known) if (one.accountId === accountId) known.delete(key);
    },
    list: () => [...known.values()].flatMap(({ sentAt: _sentAt, errored, ...one }) => (errored ? one : [])),
  };
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}… (of ${text.length} characters)`;
}
