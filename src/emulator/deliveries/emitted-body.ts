import { UsageError } from "../../errors.ts";
import type { AnyEvent } from "../../protocol/event-types.ts";
import { resourceOf } from "../../protocol/resources.ts";
import type { Subscription } from "../subscriptions/subscription.ts";
import { toWire } from "../wire/delivery-body.ts";

/** A delivery's body without its envelope, which is the subscription's. */
interface Body {
  readonly payloads?: readonly object[];
  readonly [field: string]: unknown;
}

/**
 * What `emit` delivers.
 *
 * @throws UsageError `emit-invalid` for an event that a subscription of this resource does not get
 */
export function emittedBody(subscription: Subscription, what: readonly object[] | AnyEvent): Body {
  if (!("type" in what)) return { payloads: what };
  const { id, accountId, resource } = subscription;
  const family = what.type.split(".")[0];
  const own = resourceOf(resource)?.resource.family;
  const wire = toWire({ ...what, subscription: id, accountId, resource });
  if ((family !== own && family !== "lifecycle" && family !== "unknown") || typeof wire !== "object" || wire === null)
    throw new UsageError("emit-invalid", `Got ${what.type} for subscription ${id}, which watches ${resource}.`, {
      fix: `Emit an event of the family ${own}, lifecycle.error, lifecycle.active, or an unknown one that is JSON.`,
    });
  return Object.fromEntries(Object.entries(wire).filter(([name]) => !ENVELOPE.has(name)));
}

const ENVELOPE = new Set(["subscription", "accountId", "resource"]);
