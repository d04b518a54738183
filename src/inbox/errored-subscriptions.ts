import type { SingleEvent } from "../protocol/event-types.ts";
import { cutText } from "../thrown.ts";
import type { ErroredSubscription, KnownSubscription, LifecycleNotice, NoticeOrigin } from "./port/subscriptions.ts";

/** Subscriptions in error, in memory. */
export interface ErroredSubscriptions {
  /** Records a lifecycle notice, handled or not. A notice older than the last one is ignored. */
  record(notice: LifecycleNotice, origin: NoticeOrigin): void;
  /** Forgets an unwanted subscription, which will never become `active`. Without a source: in every source. */
  forget(subscription: number, source: string | undefined): void;
  /** @returns how many there were */
  forgetAccount(accountId: number): number;
  /** Those in error, in the order of their notices. */
  list(): readonly ErroredSubscription[];
  /** All, in the order of their notices. */
  known(): readonly KnownSubscription[];
}

/** Ids come from signed deliveries only, but the number of accounts is unbounded. */
const MOST = 1_000;
/** Limit of the service's error text, which may be a whole page. */
const MOST_CHARACTERS = 2_000;

/** The lifecycle notice in an event, with long texts cut; undefined for other events. */
export function noticeOf(event: SingleEvent): LifecycleNotice | undefined {
  if (event.type !== "lifecycle.error" && event.type !== "lifecycle.active") return undefined;
  const { subscription, accountId, resource } = event;
  return toNotice({
    subscription,
    accountId,
    resource,
    error: event.type === "lifecycle.error" ? event.error : undefined,
  });
}

/** The same with long texts cut. */
export function toNotice({ subscription, accountId, resource, error }: LifecycleNotice): LifecycleNotice {
  return { subscription, accountId, resource: cut(resource), error: error === undefined ? undefined : cut(error) };
}

/** @param most stored; beyond it active subscriptions are forgotten first, then the oldest */
export function createErroredSubscriptions(most = MOST): ErroredSubscriptions {
  /** By source, subscription and resource. Active ones stay for a while, so that a late, older `error` is ignored. */
  const known = new Map<string, ErroredSubscription & { readonly sentAt: number; readonly errored: boolean }>();

  /** An active subscription never displaces one in error. */
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
      const before = known.size;
      for (const [key, one] of known) if (one.accountId === accountId) known.delete(key);
      return before - known.size;
    },
    list: () => [...known.values()].flatMap(({ sentAt: _sentAt, errored, ...one }) => (errored ? one : [])),
    known: () =>
      [...known.values()].map(({ errored, error, ...one }) =>
        Object.assign(one, { error: errored ? error : undefined }),
      ),
  };
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${cutText(text, MOST_CHARACTERS)}… (of ${text.length} characters)`;
}
