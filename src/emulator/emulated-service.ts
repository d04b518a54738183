import { systemClock, type Clock } from "../clock.ts";
import { UsageError } from "../errors.ts";
import { seedMailbox, toEmulatedAccount, type Account } from "./accounts/account.ts";
import { clearSchedule } from "./accounts/drafts.ts";
import { createFolders } from "./accounts/folders.ts";
import { createMailbox, type MailboxChange } from "./accounts/mailbox.ts";
import { PERSONAL, type AccountProfile } from "./accounts/profile.ts";
import { createRateLimit } from "./accounts/rate-limit.ts";
import { createTracking } from "./accounts/tracking.ts";
import { createBookings, type Bookings } from "./bookings/bookings.ts";
import { createAnnouncer } from "./deliveries/announce.ts";
import { createDeliveryQueue } from "./deliveries/delivery-queue.ts";
import { emittedBody } from "./deliveries/emitted-body.ts";
import { createJournal, type Attempt } from "./deliveries/journal.ts";
import type { Transport } from "./deliveries/transport.ts";
import type { AccountSeed, EmulatedAccount, Emulator, EmulatorOptions } from "./emulator-types.ts";
import { createGivenAnswers, type GivenAnswers } from "./http/given-answers.ts";
import { createRandom } from "./random.ts";
import { setFault, type Subscription } from "./subscriptions/subscription.ts";
import { createSubscriptions, type WantedSubscription } from "./subscriptions/subscriptions.ts";
import { createSyncConfig, type SyncConfig } from "./sync-config/sync-config.ts";
import { createVirtualClock } from "./virtual-clock.ts";

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
  openAccount(seed: AccountSeed, profile?: AccountProfile): Account;
  /** Gives the service its access to the mailbox, or takes it. @see protocol 3 */
  setAccess(account: Account, hasAccess: boolean): void;
  /** Its token holds no more, and the service loses its access. */
  revokeToken(account: Account): void;
  /** Ends its subscriptions, and forgets it. */
  removeAccount(account: Account): void;
  readonly answers: GivenAnswers;
  readonly bookings: Bookings;
  readonly syncConfig: SyncConfig;
  /** Where the service listens. */
  baseUrl(): string;
  /** A request's id in an error's body. */
  requestId(): string;
}

/** What the service is given beside its options. */
export interface EmulatedServiceDeps {
  readonly transport: Transport;
  /** Where the service listens. @default this machine, without a port */
  readonly baseUrl?: () => string;
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
const NO_ACCESS = "Active token is missing";

/** Plays the service: accounts, subscriptions, and the deliveries that follow from what happens in a mailbox. */
export function createEmulatedService(options: EmulatorOptions, deps: EmulatedServiceDeps): EmulatedService {
  const { seed = 1, clock: given = "real", startAt = START } = options;
  const virtual = given === "virtual" ? createVirtualClock(startAt.getTime()) : undefined;
  const clock: Clock = virtual ?? (typeof given === "string" ? systemClock : given);
  const secret = options.secret ?? `whsec_${createRandom(seed).hex(32)}`;
  const accounts = new Map<number, Account>();
  const answers = createGivenAnswers();
  let nextAccount = FIRST_ACCOUNT;
  const journal = createJournal((attempt) => deps.onAttempt?.(attempt));
  let random = createRandom(seed + 1);
  const queue = createDeliveryQueue({
    clock,
    transport: deps.transport,
    journal,
    secret,
    redelivery: options.redelivery,
    deliveryTimeoutMs: options.deliveryTimeoutMs ?? DELIVERY_TIMEOUT_MS,
    inOrder: virtual !== undefined,
    onUnsubscribed: unsubscribe,
  });
  const announcer = createAnnouncer({ clock, queue });
  const subscriptions = createSubscriptions({
    clock,
    transport: deps.transport,
    secret,
    allowRemote: options.allowRemote ?? false,
    random: () => random,
    isOpen: (account) => accounts.get(account.id) === account,
  });

  const { baseUrl = () => "http://127.0.0.1" } = deps;
  const { appId = "app-emulator", appSecret = `app-${secret}`, signedText = "ids" } = options.syncConfig ?? {};
  const syncConfig = createSyncConfig({
    appId,
    appSecret,
    signedText,
    clock,
    random: () => random,
    authorizeUrl: (key) => `${baseUrl()}/authorize/${key}`,
  });

  function unsubscribe(subscription: Subscription): void {
    subscriptions.remove(subscription);
    queue.drop(subscription);
  }

  /** Tells those who subscribed to one of these resources. @see protocol 6.2, email tracking and booking notification */
  function tell(account: Account, resources: readonly string[], entry: object): void {
    if (!account.isPaid) return;
    for (const subscription of subscriptions.of(account))
      if (resources.includes(subscription.resource) && subscription.active) announcer.payloads(subscription, [entry]);
  }

  const bookings = createBookings({
    clock,
    accounts,
    announce: (account, { id, fields }, entry) =>
      tell(account, [`/booking/${id}`, `/booking/${fields.name ?? id}`], entry),
  });

  /** A change is announced to all who watch, unless the service cannot see it. */
  function announce(account: Account, { collection, changeType, record }: MailboxChange): void {
    if (accounts.get(account.id) !== account || !account.isPaid) return; // a reset has taken it away
    const { threadId, sysLabels } = record;
    const isDraft = Array.isArray(sysLabels) && sysLabels.includes("draft");
    const entry = { id: record.id, changeType, ...(typeof threadId === "string" && { attributes: { threadId } }) };
    for (const subscription of subscriptions.watching(account, collection))
      if (!(isDraft && subscription.filters.includes("withoutDrafts"))) announcer.payloads(subscription, [entry]);
  }

  /** @see protocol 3, the lifecycle of a subscription */
  function setAccess(account: Account, hasAccess: boolean): void {
    account.hasAccess = hasAccess;
    for (const subscription of subscriptions.of(account)) {
      if (subscription.active === hasAccess) continue;
      subscription.active = hasAccess;
      subscription.failSince = hasAccess ? undefined : clock.now();
      subscription.failDescription = hasAccess ? undefined : NO_ACCESS;
      announcer.body(
        subscription,
        hasAccess ? { lifecycleEvent: "active" } : { lifecycleEvent: "error", error: NO_ACCESS },
      );
    }
  }

  function openAccount(accountSeed: AccountSeed, profile: AccountProfile = PERSONAL): Account {
    const id = nextAccount;
    nextAccount += 1;
    const { name = "Grace Hopper", email = `user${id}@example.com`, hasBodiesInLists = true } = accountSeed;
    const account: Account = {
      id,
      token: newToken(),
      name,
      email,
      profile,
      mailbox: createMailbox({ clock, random, onChange: (change) => announce(account, change) }),
      folders: createFolders(random),
      scheduled: new Map(),
      tracking: createTracking({ clock, random, announce: (event) => tell(account, ["/email/tracking"], event) }),
      random,
      calls: createRateLimit(clock, options.callsPerSecond),
      hasBodiesInLists,
      hasAccess: true,
      isPaid: true,
    };
    accounts.set(id, account);
    seedMailbox(account, accountSeed);
    return account;
  }

  const newToken = (): string => `token_${random.hex(24)}`;

  const methodsOf = (account: Account): EmulatedAccount => toEmulatedAccount(account, { now: clock.now, setAccess });

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
    for (const subscription of subscriptions.byId.values()) unsubscribe(subscription);
    subscriptions.clear();
    announcer.clear();
    queue.clear();
    for (const account of accounts.values()) clearSchedule(account);
    accounts.clear();
    nextAccount = FIRST_ACCOUNT;
    answers.clear();
    bookings.clear();
    syncConfig.clear();
  }

  return {
    secret,
    clock,
    isVirtual: virtual !== undefined,
    accounts,
    subscriptions: subscriptions.byId,
    unsubscribe,
    methodsOf,
    syncConfig,
    appId,
    appSecret,
    baseUrl,
    requestId: () => random.uuid(),
    openAccount,
    account: async (accountSeed = {}) => methodsOf(openAccount(accountSeed)),
    setAccess,
    revokeToken(account) {
      account.token = newToken();
      setAccess(account, false);
    },
    removeAccount(account) {
      clearSchedule(account);
      for (const subscription of subscriptions.of(account)) unsubscribe(subscription);
      accounts.delete(account.id);
      bookings.profiles.forget(account.id);
    },
    answers,
    bookings,
    respond: answers.set,
    async open({ id }, by) {
      for (const { tracking } of accounts.values()) {
        const tracked = tracking.find(id);
        if (tracked !== undefined) return tracking.opened(tracked, by);
      }
      throw new UsageError("record-not-found", `No account has sent a message ${JSON.stringify(id)} with tracking.`);
    },
    async subscribe(accountId, wanted) {
      const account = accounts.get(accountId);
      if (account === undefined)
        throw new UsageError("account-not-found", `There is no account ${accountId}.`, { fix: "Open it first." });
      return subscriptions.add(account, wanted);
    },
    async emit(id, what) {
      const subscription = subscriptions.found(id);
      const { payloads, ...others } = emittedBody(subscription, what);
      if (payloads === undefined) announcer.body(subscription, others);
      else announcer.payloads(subscription, payloads);
    },
    fault: (id, fault) => setFault(subscriptions.found(id), fault),
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
    },
    async close() {
      clear();
      deps.transport.close();
    },
  };
}

/** A commit, a claim and a synchronous handler take a few turns of the event loop. */
const TURNS = 10;

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
