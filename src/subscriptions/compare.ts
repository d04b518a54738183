import type { Subscription } from "../client.ts";
import type { Desired } from "./desired.ts";
import { fits } from "./same-subscription.ts";

/** What an account has, beside what is desired of it. */
export interface Compared {
  /** To be created. */
  readonly missing: readonly Desired[];
  /** Of equal ones the oldest. */
  readonly kept: readonly Subscription[];
  /** Not desired, or newer than an equal one that is kept; oldest first. */
  readonly others: readonly Subscription[];
}

/** Decides for a plan, and again when it is carried out, what an account lacks. */
export function compare(desired: readonly Desired[], listed: readonly Subscription[]): Compared {
  // The oldest has the smallest id: the service tells no time of creation.
  const byAge = listed.toSorted((a, b) => a.id - b.id);
  const oldest = desired.map((one) => byAge.find((subscription) => fits(one, subscription)));
  const kept = new Set(oldest.filter((one) => one !== undefined));
  return {
    missing: desired.filter((_, index) => oldest[index] === undefined),
    kept: [...kept],
    others: byAge.filter((one) => !kept.has(one)),
  };
}
