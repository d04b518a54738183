import { systemClock, type Clock } from "../clock.ts";
import { UsageError } from "../errors.ts";
import type { AnyEvent } from "../protocol/event-types.ts";
import { resourceOf } from "../protocol/resource-paths.ts";
import { toEmulatedAccount, type Account } from "./accounts/account.ts";
import { createMailbox, isWatched, type MailboxChange } from "./accounts/mailbox.ts";
import { createAnnouncer } from "./deliveries/announce.ts";
import { createDeliveryQueue } from "./deliveries/delivery-queue.ts";
import { assertFault, kindOf } from "./deliveries/faults.ts";
import { createJournal, type Attempt } from "./deliveries/journal.ts";
import type { Transport } from "./deliveries/transport.ts";
import type { EmulatedAccount, Emulator, EmulatorOptions, SubscriptionState } from "./emulator-types.ts";
import { createRandom } from "./random.ts";
import { handshake } from "./subscriptions/handshake.ts";
import { toNotificationUrl } from "./subscriptions/notification-url.ts";
import type { DetailLevel, Subscription } from "./subscriptions/subscription.ts";
import { createVirtualClock } from "./virtual-clock.ts";
import { toWire } from "./wire/delivery-body.ts";

/** The service without its HTTP server. */
export interface EmulatedService extends Omit<
  Emulator,
  "url" | "syncConfigUrl" | "subscribe" | "subscriptions" | typeof Symbol.asyncDispose
> {
  readonly isVirtual: boolean;
  readonly accounts: ReadonlyMap<number, Account>;
  readonly subscriptions: ReadonlyMap<number, Subscription>;
  subscribe(accountId: number, wanted: WantedSubscription): Promise<Subscription>;
  unsubscribe(subscription: Subscription): void;
  methodsOf(account: Account): EmulatedAccount;
  stateOf(subscription: Subscription): SubscriptionState;
  /** A request's id in an error's body. */
  requestId(): string;
}

/** What the body of `POST /v1/subscriptions` says. */
interface WantedSubscription {
  readonly resource: string;
  readonly notificationUrl: string;
  readonly filters?: readonly string[] | undefined;
  readonly detailLevel?: DetailLevel | undefined;
}

/** What the service is given beside its options. */
export interface EmulatedServiceDeps {
  readonly transport: Transport;
  /** Something happened that a page would show. */
  readonly onAttempt?: (attempt: Attempt) => void;
}

const START = new Date("2026-01-02T03:04:05Z");
const DELIVERY_TIMEOUT_MS = 30_000;
/** Real time: how long a receiver may hold up the virtual clock. */
const LONGEST_HOLD_UP_MS = 5_000;
/** Real time: a receiver may answer before a slow body has ended, and its answer has to cross the socket. */
const EARLY_ANSWER_MS = 5;
const FIRST_ACCOUNT = 2001;
const FIRST_SUBSCRIPTION = 1001;
const NO_ACCESS = "Active token is missing";

/** Plays the service: accounts, subscriptions, and the deliveries that follow from what happens in a mailbox. */
export function createEmulatedService(options: EmulatorOptions, deps: EmulatedServiceDeps): EmulatedService {
  const { seed = 1, clock: given = "real", startAt = START } = options;
  const virtual = given === "virtual" ? createVirtualClock(startAt.getTime()) : undefined;
  const clock: Clock = virtual ?? (typeof given === "string" ? systemClock : given);
  const secret = options.secret ?? `whsec_${createRandom(seed).hex(32)}`;
  const accounts = new Map<number, Account>();
  const subscriptions = new Map<number, Subscription>();
  const journal = createJournal((attempt) => deps.onAttempt?.(attempt));
  let random = createRandom(seed + 1);
  let lastSubscription = FIRST_SUBSCRIPTION - 1;
  const { timestamp = "kept", headOfLine = false, giveUpAfter = Infinity } = options.redelivery ?? {};
  const queue = createDeliveryQueue({
    clock,
    transport: deps.transport,
    journal,
    secret,
    redelivery: { timestamp, headOfLine, giveUpAfter },
    deliveryTimeoutMs: options.deliveryTimeoutMs ?? DELIVERY_TIMEOUT_MS,
    inOrder: virtual !== undefined,
    onUnsubscribed: unsubscribe,
  });
  const announcer = createAnnouncer({ clock, queue });

  function unsubscribe(subscription: Subscription): void {
    subscription.isRemoved = true;
    subscriptions.delete(subscription.id);
    queue.drop(subscription);
  }

  /** A change is announced to all who watch, unless the service cannot see it. */
  function announce(accountId: number, { collection, changeType, record }: MailboxChange): void {
    const { threadId, sysLabels } = record;
    const isDraft = Array.isArray(sysLabels) && sysLabels.includes("draft");
    const entry = { id: record.id, changeType, ...(typeof threadId === "string" && { attributes: { threadId } }) };
    for (const subscription of subscriptions.values()) {
      const { resource, filters, active } = subscription;
      if (subscription.accountId !== accountId || !active || !isWatched(resource, collection)) continue;
      if (!(isDraft && filters.includes("withoutDrafts"))) announcer.payloads(subscription, [entry]);
    }
  }

  /** @see protocol 3, the lifecycle of a subscription */
  function setAccess(account: Account, hasAccess: boolean): void {
    account.hasAccess = hasAccess;
    for (const subscription of subscriptions.values()) {
      if (subscription.accountId !== account.id || subscription.active === hasAccess) continue;
      subscription.active = hasAccess;
      subscription.failSince = hasAccess ? undefined : clock.now();
      subscription.failDescription = hasAccess ? undefined : NO_ACCESS;
      announcer.body(
        subscription,
        hasAccess ? { lifecycleEvent: "active" } : { lifecycleEvent: "error", error: NO_ACCESS },
      );
    }
  }

  function found(id: number): Subscription {
    const subscription = subscriptions.get(id);
    if (subscription !== undefined) return subscription;
    const known = [...subscriptions.keys()].join(", ") || "none";
    throw new UsageError("subscription-not-found", `There is no subscription ${id}. There are: ${known}.`);
  }

  const methodsOf = (account: Account): EmulatedAccount => toEmulatedAccount(account, { random, setAccess });

  /** Waits for the answers to all that was sent, and for what follows from them in this process. */
  async function quiet(): Promise<void> {
    do {
      const reason = `no answer in ${LONGEST_HOLD_UP_MS / 1_000} s of real time, for which the virtual clock waits`;
      const timer = systemClock.setTimer(() => queue.expire(reason), LONGEST_HOLD_UP_MS);
      await queue.answered();
      timer.clear();
      await turns();
      if (queue.isSlow()) await new Promise((resolve) => setTimeout(resolve, EARLY_ANSWER_MS));
    } while (!queue.isAnswered());
  }

  function clear(): void {
    for (const subscription of subscriptions.values()) unsubscribe(subscription);
    announcer.clear();
    queue.clear();
    accounts.clear();
  }

  return {
    secret,
    clock,
    isVirtual: virtual !== undefined,
    accounts,
    subscriptions,
    unsubscribe,
    methodsOf,
    requestId: () => random.uuid(),
    async account(fields = {}) {
      const id = FIRST_ACCOUNT + accounts.size;
      const mailbox = createMailbox({ clock, random, onChange: (change) => announce(id, change) });
      const named = { name: "Grace Hopper", email: `user${id}@example.com`, ...fields };
      const account: Account = { id, token: `token_${random.hex(24)}`, ...named, mailbox, hasAccess: true };
      accounts.set(id, account);
      return methodsOf(account);
    },
    async subscribe(accountId, { resource, notificationUrl, filters = [], detailLevel = "status" }) {
      const account = accounts.get(accountId);
      if (account === undefined)
        throw new UsageError("account-not-found", `There is no account ${accountId}.`, { fix: "Open it first." });
      if (typeof resource !== "string" || resourceOf(resource) === undefined)
        throw new UsageError(
          "subscription-refused",
          `The resource is ${JSON.stringify(resource)}, expected /email/messages, /email/tracking, /contacts, /calendars/{id}/events, /tasklists/{id}/tasks or /booking/{id}.`,
        );
      const url = toNotificationUrl(notificationUrl, options.allowRemote ?? false);
      const flaw = await handshake(url, { clock, random, secret, transport: deps.transport });
      if (flaw !== undefined) throw new UsageError("handshake-failed", flaw);
      const subscription: Subscription = {
        id: (lastSubscription += 1),
        accountId,
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
      subscriptions.set(subscription.id, subscription);
      return subscription;
    },
    async emit(id, what) {
      const subscription = found(id);
      const wire = isList(what) ? { payloads: what } : eventBody(subscription, what);
      const { payloads, ...others } = wire;
      if (payloads === undefined) announcer.body(subscription, others);
      else announcer.payloads(subscription, payloads);
    },
    fault(id, fault) {
      const subscription = found(id);
      const script = isList(fault) ? fault : [];
      for (const one of script) if (one !== undefined) assertFault(one);
      if (!isList(fault) && fault !== undefined) assertFault(fault);
      subscription.faultScript = [...script];
      subscription.fault = isList(fault) ? undefined : fault;
    },
    stateOf(subscription) {
      const { id, accountId, resource, notificationUrl, active, failSince, failDescription, fault, waiting } =
        subscription;
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
    },
    async advance(ms) {
      if (virtual === undefined)
        throw new UsageError(
          "clock-not-virtual",
          "The emulator's clock is not a virtual one, so it cannot be advanced.",
          {
            fix: 'Create the emulator with clock: "virtual" (--clock virtual).',
          },
        );
      if (!(ms >= 0 && ms < Infinity))
        throw new UsageError("option-invalid", `advance got ${String(ms)}, expected milliseconds from 0.`);
      await virtual.advance(ms, quiet);
    },
    async settled() {
      await turns();
      await queue.settled();
      await turns();
    },
    get journal() {
      return journal.attempts;
    },
    get attempts() {
      return journal.total;
    },
    async reset() {
      clear();
      journal.clear();
      random = createRandom(seed + 1);
      lastSubscription = FIRST_SUBSCRIPTION - 1;
    },
    async close() {
      clear();
      deps.transport.close();
    },
  };
}

/** @throws UsageError `emit-invalid` for an event that a subscription of this resource does not get */
function eventBody(subscription: Subscription, event: AnyEvent): { readonly payloads?: readonly object[] } {
  const { id, accountId, resource } = subscription;
  const family = event.type.split(".")[0];
  const own = resourceOf(resource)?.resource.family;
  const wire = toWire({ ...event, subscription: id, accountId, resource });
  if ((family !== own && family !== "lifecycle" && family !== "unknown") || typeof wire !== "object" || wire === null)
    throw new UsageError("emit-invalid", `Got ${event.type} for subscription ${id}, which watches ${resource}.`, {
      fix: `Emit an event of the family ${own}, lifecycle.error, lifecycle.active, or an unknown one that is JSON.`,
    });
  return Object.fromEntries(Object.entries(wire).filter(([name]) => !ENVELOPE.has(name)));
}

const ENVELOPE = new Set(["subscription", "accountId", "resource"]);

function isList<T>(value: T): value is Extract<T, readonly unknown[]> {
  return Array.isArray(value);
}

/** A commit, a claim and a synchronous handler take a few turns of the event loop. */
const TURNS = 10;

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
