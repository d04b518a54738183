import type { Clock, Timer } from "../../clock.ts";
import type { Subscription } from "../subscriptions/subscription.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { repeatEntries, withUnknownValues, type Fault } from "./faults.ts";

/** Makes deliveries of what happens, in the way in which a subscription's fault says. */
export interface Announcer {
  /** Entries of one delivery. */
  payloads(subscription: Subscription, payloads: readonly object[]): void;
  /** Any other body, whatever a fault says about entries. */
  body(subscription: Subscription, body: object): void;
  /** Drops what is held back. */
  clear(): void;
}

/** How long `merge` and `reorder` hold a delivery back for the next one. */
const HOLD_MS = 1_000;

interface Held {
  readonly timer: Timer;
  readonly payloads: object[];
  readonly release: () => void;
}

export function createAnnouncer({ clock, queue }: { readonly clock: Clock; readonly queue: DeliveryQueue }): Announcer {
  const held = new Map<Subscription, Held>();
  const delays = new Set<Timer>();

  function enqueue(subscription: Subscription, body: object, fault: Fault | undefined): void {
    if (!subscription.isRemoved) queue.add(subscription, Buffer.from(JSON.stringify(body)), fault);
  }

  function hold(subscription: Subscription, payloads: object[], release: () => void): void {
    const timer = clock.setTimer(() => {
      held.delete(subscription);
      release();
    }, HOLD_MS);
    held.set(subscription, { timer, payloads, release });
  }

  function takeHeld(subscription: Subscription): Held | undefined {
    const found = held.get(subscription);
    found?.timer.clear();
    held.delete(subscription);
    return found;
  }

  function deliver(subscription: Subscription, payloads: readonly object[], scripted: Fault | undefined): void {
    const fault = scripted ?? subscription.fault;
    const bodyOf = (entries: readonly object[]): object => ({ ...envelopeOf(subscription), payloads: entries });
    const send = (entries: readonly object[]): void => enqueue(subscription, bodyOf(entries), scripted);
    if (fault === "duplicate") {
      send(payloads);
      send(payloads);
    } else if (fault === "split") for (const entry of payloads) send([entry]);
    else if (fault === "merge") {
      const entries = [...(takeHeld(subscription)?.payloads ?? []), ...payloads];
      hold(subscription, entries, () => send(entries));
    } else if (fault === "reorder") {
      const earlier = takeHeld(subscription);
      if (earlier === undefined) return hold(subscription, [], () => send(payloads));
      send(payloads);
      earlier.release();
    } else if (fault === "unknown-values")
      enqueue(subscription, { ...envelopeOf(subscription), ...withUnknownValues(payloads) }, scripted);
    else if (typeof fault === "object" && "entries" in fault) send(repeatEntries(payloads, fault.entries));
    else if (typeof fault === "object" && "delayMs" in fault) {
      const timer = clock.setTimer(() => {
        delays.delete(timer);
        send(payloads);
      }, fault.delayMs);
      delays.add(timer);
    } else send(payloads);
  }

  return {
    payloads(subscription, payloads) {
      const scripted = subscription.faultScript.shift();
      // Nobody is left to be told of what was held back.
      if (scripted === undefined && subscription.fault === undefined) takeHeld(subscription)?.release();
      if (subscription.detailLevel === "signal" && payloads.some((entry) => "changeType" in entry))
        enqueue(subscription, envelopeOf(subscription), scripted);
      else deliver(subscription, payloads, scripted);
    },
    body(subscription, body) {
      enqueue(subscription, { ...envelopeOf(subscription), ...body }, undefined);
    },
    clear() {
      for (const { timer } of held.values()) timer.clear();
      for (const timer of delays) timer.clear();
      held.clear();
      delays.clear();
    },
  };
}

function envelopeOf({ id, resource, accountId }: Subscription): object {
  return { subscription: id, resource, accountId };
}
