import type { Delivery } from "../deliveries/delivery-queue.ts";
import { assertFault, kindOf, type Fault } from "../deliveries/faults.ts";
import type { SubscriptionState } from "../emulator-types.ts";

/** A subscription in the emulator's memory. @see protocol 2.1, 3 */
export interface Subscription {
  readonly id: number;
  readonly accountId: number;
  readonly resource: string;
  readonly notificationUrl: string;
  readonly filters: readonly string[];
  readonly detailLevel: DetailLevel;
  active: boolean;
  failSince?: number | undefined;
  failDescription?: string | undefined;
  isRemoved: boolean;
  /** Of every attempt. */
  fault: Fault | undefined;
  /** Of the next deliveries, one each. */
  faultScript: (Fault | undefined)[];
  /** Deliveries that are not settled, in their order. */
  readonly waiting: Set<Delivery>;
  /** Those of them that are to be sent now. */
  readonly due: Delivery[];
  isSending: boolean;
  /** Sent again by the fault `replay`. */
  firstRequest?: { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer };
}

/** `signal`: deliveries say only that something changed. */
export type DetailLevel = "status" | "signal";

/** How it stands, for a person or a test. */
export function stateOf(subscription: Subscription): SubscriptionState {
  const { id, accountId, resource, notificationUrl, active, failSince, failDescription, fault, waiting } = subscription;
  let next = Infinity;
  for (const { nextAttemptAt = Infinity } of waiting) next = Math.min(next, nextAttemptAt);
  return {
    id,
    accountId,
    resource,
    notificationUrl,
    active,
    failDescription,
    waiting: waiting.size,
    failSince: failSince === undefined ? undefined : new Date(failSince),
    nextAttemptAt: next === Infinity ? undefined : new Date(next),
    fault: fault && kindOf(fault),
  };
}

/** @throws UsageError `fault-invalid` */
export function setFault(subscription: Subscription, fault: Fault | readonly (Fault | undefined)[] | undefined): void {
  const script = isList(fault) ? [...fault] : [];
  const standing = isList(fault) ? undefined : fault;
  for (const one of [...script, standing]) if (one !== undefined) assertFault(one);
  subscription.faultScript = script;
  subscription.fault = standing;
}

function isList<T>(value: T): value is Extract<T, readonly unknown[]> {
  return Array.isArray(value);
}
