import type { SubscribedResource } from "../inbox/port/gaps.ts";
import type { Envelope } from "../protocol/event-types.ts";
import { resourceOf } from "../protocol/resource-paths.ts";

/** The resources that this process has seen. */
export interface KnownResources {
  /** Always the same one for a resource. Cheap: it is asked for each delivery. */
  find(envelope: Envelope, source: string | undefined): KnownResource;
  /** Without a source: in every source. */
  forget(subscription: number, source: string | undefined): void;
}

export interface KnownResource {
  readonly resource: SubscribedResource;
  /** When the inbox was told that it was seen, milliseconds since the epoch. */
  toldAt: number;
  /** The last lifecycle notice of it, so that another try to store that one records nothing again. */
  notice?: string;
}

export function createKnownResources(): KnownResources {
  /** A subscription is of one resource; only a sender that errs makes the lists longer. */
  const bySubscription = new Map<number, KnownResource[]>();

  return {
    find(envelope, source) {
      const { subscription } = envelope;
      const known = bySubscription.get(subscription);
      const found = known?.find(({ resource: one }) => isSame(one, envelope, source));
      if (found !== undefined) return found;
      const added = { resource: toSubscribed(envelope, source), toldAt: -Infinity };
      if (known === undefined) bySubscription.set(subscription, [added]);
      else known.push(added);
      return added;
    },
    forget(subscription, source) {
      const known = bySubscription.get(subscription) ?? [];
      const left = known.filter(({ resource: one }) => source !== undefined && one.source !== source);
      if (left.length === 0) bySubscription.delete(subscription);
      else bySubscription.set(subscription, left);
    },
  };
}

export function toSubscribed(
  { subscription, accountId, resource }: Envelope,
  source: string | undefined,
): SubscribedResource {
  const family = resourceOf(resource)?.resource.family ?? "unknown";
  return { source, subscription, accountId, resource, family };
}

function isSame(one: SubscribedResource, { accountId, resource }: Envelope, source: string | undefined): boolean {
  return one.accountId === accountId && one.resource === resource && one.source === source;
}
