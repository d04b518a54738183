/** Subscriptions that were answered 422 and of which nothing came since: the service may send a thousand deliveries of each before it deletes it. */
export interface GoneSubscriptions {
  /** @returns false where it is known already */
  add(subscription: number, source: string | undefined): boolean;
  /** Something of it was seen, of whatever source. */
  isBack(subscription: number): void;
}

/** Beyond it all are forgotten: each costs one write more. */
const MOST = 10_000;

export function createGoneSubscriptions(): GoneSubscriptions {
  const gone = new Map<number, Set<string | undefined>>();

  return {
    add(subscription, source) {
      const sources = gone.get(subscription);
      if (sources?.has(source) === true) return false;
      if (gone.size >= MOST) gone.clear();
      gone.set(subscription, (sources ?? new Set()).add(source));
      return true;
    },
    isBack(subscription) {
      // Asked for each delivery.
      if (gone.size > 0) gone.delete(subscription);
    },
  };
}
