import type { Clock } from "../clock.ts";
import type { ExpandedListener } from "../dispatch/reporter.ts";
import { UsageError } from "../errors.ts";
import type { Receiver } from "./receiver-types.ts";
import type { ReceiverState } from "./receiver-states.ts";

/** What tools that come with the package may see of a receiver. */
export interface Internals {
  readonly clock: Clock;
  readonly state: () => ReceiverState;
  /** Its inbox has a working half. */
  readonly works: boolean;
  /** A handler was registered. */
  readonly handles: () => boolean;
  /** Told of what each delivery was expanded to; take yours out again. */
  readonly expandedListeners: Set<ExpandedListener>;
}

const known = new WeakMap<Receiver, Internals>();

/** Remembers them for as long as the receiver lives. */
export function setInternals(receiver: Receiver, internals: Internals): void {
  known.set(receiver, internals);
}

/** Undefined for a receiver that a test made up. */
export function insideOf(receiver: Receiver): Internals | undefined {
  return known.get(receiver);
}

/** @throws UsageError `receiver-invalid` for anything that `createReceiver` did not make */
export function internalsOf(receiver: Receiver): Internals {
  const internals = known.get(receiver);
  if (internals !== undefined) return internals;
  throw new UsageError("receiver-invalid", "This is no receiver that `createReceiver` made.", {
    fix: "Give it the receiver itself, of the same copy of hookline.",
  });
}
