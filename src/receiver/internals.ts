import { kindOf } from "../assert.ts";
import type { Clock } from "../clock.ts";
import type { Handlers } from "../dispatch/handlers.ts";
import type { ExpandedListener } from "../dispatch/job-reporter.ts";
import { UsageError } from "../errors.ts";
import type { Capabilities, InboxWorkers } from "../inbox/port/inbox.ts";
import { listOf, toPause } from "../inbox/pauses.ts";
import type { KeyValues } from "../inbox/port/key-values.ts";
import type { Pauses } from "../inbox/port/pauses.ts";
import type { Tombstones } from "../inbox/port/tombstones.ts";
import type { InFlightBytes } from "../ingest/body-limits.ts";
import type { Instruments } from "../observe/instruments.ts";
import type { Logger } from "../logger.ts";
import type { GapWatch } from "../gaps/gap-watch.ts";
import type { HandshakeListener } from "./handshake-listeners.ts";
import type { Problem } from "./health/problem-catalog.ts";
import type { SubscriptionErrors } from "./health/subscription-errors.ts";
import type { ReceiverState } from "./lifecycle.ts";
import type { OwnSignals } from "./store-own-signal.ts";
import type { Receiver } from "./receiver-types.ts";

/** Parts of a receiver for the package's own tools, such as `hookline/testing` and `hookline/subscriptions`; not for users. */
export interface Internals {
  readonly clock: Clock;
  readonly state: () => ReceiverState;
  /** The option `name`. */
  readonly name: string;
  readonly handlers: Pick<Handlers, "some" | "handled" | "sealed">;
  readonly instruments: Instruments;
  /** Bodies being read, and those that wait to be stored. */
  readonly inFlightBytes: Pick<InFlightBytes, "size">;
  /** Of the open inbox, where many work. */
  readonly inboxWorkers: () => InboxWorkers | undefined;
  /** Called with the jobs of each expanded delivery. Remove yours when done. */
  readonly expandedListeners: Set<ExpandedListener>;
  /** Called with each verification request and its answer. Remove yours when done. */
  readonly handshakes: Set<HandshakeListener>;
  readonly log: Logger;
  /** Not throttled: for what each line of matters. */
  readonly everyLine: Logger;
  /** For a process that may be frozen afterwards. */
  readonly workUntilIdle: () => Promise<void>;
  /** Opens the inbox. @throws ClosedError `closed` */
  readonly opened: () => Promise<void>;
  /** Of the open inbox. */
  readonly tombstones: Pick<Tombstones, "list">;
  /** What is known of the states of subscriptions. */
  readonly subscriptions: Pick<SubscriptionErrors, "learn" | "unlearn" | "known">;
  /** Records where something may have been missed. */
  readonly gaps: Pick<GapWatch, "seen" | "record" | "forget">;
  readonly ownSignals: OwnSignals;
  /** How many may work on the inbox; undefined where none can. */
  readonly workers: Capabilities["workers"] | undefined;
  /** Asked by each `health()` for problems of other modules. They never throw. Remove yours when done. */
  readonly problemSources: Set<() => readonly Problem[]>;
  /** Of the open inbox; undefined where it stores none. */
  readonly pauses: Pick<Pauses, "current"> | undefined;
  /** Of the open inbox; undefined where it has none. */
  readonly keyValues: KeyValues | undefined;
}

const internals = new WeakMap<Receiver, Internals>();

export function setInternals(receiver: Receiver, of: Internals): void {
  internals.set(receiver, of);
}

/** Undefined for a fake receiver. */
export function findInternals(receiver: Receiver): Internals | undefined {
  return internals.get(receiver);
}

/** @throws UsageError `receiver-invalid` for anything that `createReceiver` did not make */
export function internalsOf(receiver: Receiver): Internals {
  const found = internals.get(receiver);
  if (found !== undefined) return found;
  throw new UsageError("receiver-invalid", `Got ${kindOf(receiver)}, expected a receiver of \`createReceiver\`.`, {
    fix: "Pass the receiver itself, of the same copy of hookline.",
  });
}

/**
 * Whether a receiver stores deliveries itself, so that it can `accept`; a queue's consumer may be one that only handles.
 * @throws UsageError `receiver-invalid` for anything that `createReceiver` did not make
 */
export function hasOwnInbox(receiver: Receiver): boolean {
  return internalsOf(receiver).workers !== undefined;
}

/** Accounts of which something is paused. Undefined where the inbox stores no pauses. @throws TypeError where it gives no list */
export function pausedAccounts({ pauses }: Internals): number | undefined {
  return (
    pauses &&
    new Set(
      listOf(pauses)
        .flatMap(toPause)
        .flatMap(({ accountId }) => accountId ?? []),
    ).size
  );
}
