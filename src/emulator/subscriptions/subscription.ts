import type { Delivery } from "../deliveries/delivery-queue.ts";
import type { Fault } from "../deliveries/faults.ts";

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
