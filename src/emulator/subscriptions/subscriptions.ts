import type { Clock } from "../../clock.ts";
import { UsageError } from "../../errors.ts";
import { resourceOf } from "../../protocol/resources.ts";
import type { Account } from "../accounts/account.ts";
import { isWatched, type Collection } from "../accounts/mailbox.ts";
import type { Transport } from "../deliveries/transport.ts";
import type { Random } from "../random.ts";
import { handshake } from "./handshake.ts";
import { toNotificationUrl } from "./notification-url.ts";
import type { DetailLevel, Subscription } from "./subscription.ts";

/** What the body of `POST /v1/subscriptions` says. */
export interface WantedSubscription {
  readonly resource: string;
  readonly notificationUrl: string;
  readonly filters?: readonly string[] | undefined;
  readonly detailLevel?: DetailLevel | undefined;
}

/** What subscriptions need. */
export interface SubscriptionsDeps {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly secret: string;
  readonly allowRemote: boolean;
  /** The present one: a reset begins anew. */
  readonly random: () => Random;
  /** False for an account that a reset has taken away. */
  readonly isOpen: (account: Account) => boolean;
}

/** All subscriptions of all accounts. */
export interface Subscriptions {
  readonly byId: ReadonlyMap<number, Subscription>;
  /**
   * Makes one, after the handshake.
   *
   * @throws UsageError `subscription-refused`, `handshake-failed`, `account-not-found` for an account that was taken away meanwhile
   */
  add(account: Account, wanted: WantedSubscription): Promise<Subscription>;
  remove(subscription: Subscription): void;
  /** @throws UsageError `subscription-not-found` */
  found(id: number): Subscription;
  /** Those of an account. */
  of(account: Account): readonly Subscription[];
  /** Those that are told of a change in a collection. */
  watching(account: Account, collection: Collection): readonly Subscription[];
  /** Ids begin from the first again. */
  clear(): void;
}

const FIRST_ID = 1001;

export function createSubscriptions(deps: SubscriptionsDeps): Subscriptions {
  const byId = new Map<number, Subscription>();
  let nextId = FIRST_ID;

  const of = ({ id }: Account): readonly Subscription[] =>
    [...byId.values()].filter(({ accountId }) => accountId === id);

  return {
    byId,
    of,
    async add(account, { resource, notificationUrl, filters = [], detailLevel = "status" }) {
      if (resourceOf(resource) === undefined)
        throw new UsageError(
          "subscription-refused",
          `The resource is ${JSON.stringify(resource)}, expected /email/messages, /email/tracking, /contacts, /calendars/{id}/events, /tasklists/{id}/tasks or /booking/{id}.`,
        );
      const url = toNotificationUrl(notificationUrl, deps.allowRemote);
      const flaw = await handshake(url, { ...deps, random: deps.random() });
      if (flaw !== undefined) throw new UsageError("handshake-failed", flaw);
      if (!deps.isOpen(account)) throw new UsageError("account-not-found", `Account ${account.id} was removed.`);
      const subscription: Subscription = {
        id: nextId,
        accountId: account.id,
        resource,
        notificationUrl,
        filters,
        detailLevel,
        active: account.hasAccess,
        isRemoved: false,
        fault: undefined,
        faultScript: [],
        waiting: new Set(),
        due: [],
        isSending: false,
      };
      nextId += 1;
      byId.set(subscription.id, subscription);
      return subscription;
    },
    remove(subscription) {
      subscription.isRemoved = true;
      byId.delete(subscription.id);
    },
    found(id) {
      const subscription = byId.get(id);
      if (subscription !== undefined) return subscription;
      const known = [...byId.keys()].join(", ") || "none";
      throw new UsageError("subscription-not-found", `There is no subscription ${id}. There are: ${known}.`);
    },
    watching: (account, collection) =>
      of(account).filter(({ active, resource }) => active && isWatched(resource, collection)),
    clear() {
      byId.clear();
      nextId = FIRST_ID;
    },
  };
}
