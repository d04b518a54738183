import type { SubscribedResource } from "../inbox/port/gaps.ts";
import type { Envelope } from "../protocol/event-types.ts";
import { resourceOf } from "../protocol/resources.ts";

/** The resources that this process has seen. */
export interface KnownResources {
  /** Always the same one for a resource. Cheap: it is asked for each delivery. */
  find(envelope: Envelope, source: string | undefined): KnownResource;
  /** Without a source: in every source. */
  forget(subscription: number, source: string | undefined): void;
  forgetAccount(accountId: number): void;
}

export interface KnownResource {
  readonly resource: SubscribedResource;
  /** When the inbox was told that it was seen, milliseconds since the epoch. */
  toldAt: number;
  /** The last lifecycle notice of it, so that another try to store that one records nothing again. */
  notice?: string;
}

/** No subscription has a longer one, in characters: of such a delivery nothing is remembered. */
const MAX_RESOURCE_CHARACTERS = 2_000;

/** Whether a subscription may have it. Cheap. */
export function isSubscribable({ resource }: Pick<Envelope, "resource">): boolean {
  return resource.length <= MAX_RESOURCE_CHARACTERS;
}

/** Beyond it the first ones are forgotten, which costs one write each when something of them comes again. */
export const MOST_KNOWN: number = 100_000;

export function createKnownResources(): KnownResources {
  /** A subscription is of one resource; only a sender that errs makes the lists longer. */
  const bySubscription = new Map<number, KnownResource[]>();
  let size = 0;

  function remove(subscription: number): void {
    size -= bySubscription.get(subscription)?.length ?? 0;
    bySubscription.delete(subscription);
  }

  function keep(subscription: number, left: KnownResource[]): void {
    remove(subscription);
    if (left.length > 0) bySubscription.set(subscription, left);
    size += left.length;
  }

  return {
    find(envelope, source) {
      const { subscription } = envelope;
      const found = bySubscription.get(subscription)?.find(({ resource: one }) => isSame(one, envelope, source));
      if (found !== undefined) return found;
      const [first] = bySubscription.keys();
      if (size >= MOST_KNOWN && first !== undefined) remove(first);
      const added = { resource: toSubscribed(envelope, source), toldAt: -Infinity };
      const known = bySubscription.get(subscription);
      if (known === undefined) bySubscription.set(subscription, [added]);
      else known.push(added);
      size += 1;
      return added;
    },
    forget(subscription, source) {
      const known = bySubscription.get(subscription) ?? [];
      keep(
        subscription,
        known.filter(({ resource: one }) => source !== undefined && one.source !== source),
      );
    },
    forgetAccount(accountId) {
      for (const [subscription, known] of bySubscription) {
        const left = known.filter(({ resource: one }) => one.accountId !== accountId);
        if (left.length < known.length) keep(subscription, left);
      }
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
