import type { Clock } from "../clock.ts";
import type { AnyEvent } from "../protocol/event-types.ts";
import type { Fault, FaultKind } from "./deliveries/faults.ts";
import type { Attempt } from "./deliveries/journal.ts";
import type { DeltaSyncOptions } from "./unified-api/delta-sync.ts";
import type { Opener } from "./accounts/tracking.ts";

/** Options of {@link Emulator}. */
export interface EmulatorOptions {
  /** Where to listen, on 127.0.0.1. @default a free port */
  port?: number | undefined;
  /** Ids, tokens and random choices follow from it: the same program has the same journal twice. @default 1 */
  seed?: number | undefined;
  /** The signing secret. @default one that follows from the seed */
  secret?: string | undefined;
  /** `"virtual"` stands still until `advance`; or a clock of your own. @default "real" */
  clock?: "real" | "virtual" | Clock | undefined;
  /** Where a virtual clock begins. @default 2026-01-02T03:04:05Z */
  startAt?: Date | undefined;
  /** What the service's description leaves open about redeliveries. */
  redelivery?: RedeliveryOptions | undefined;
  /** How sign-ups of the sync-configuration API are signed. */
  syncConfig?: SyncConfigSigning | undefined;
  /** How long a receiver may take to answer a delivery, milliseconds. @default 30_000 */
  deliveryTimeoutMs?: number | undefined;
  /** Deliver to public addresses, too. @default false: only to loopback and private ones */
  allowRemote?: boolean | undefined;
  /** Called with each attempt as it ends. */
  onAttempt?: ((attempt: Attempt) => void) | undefined;
  /** Records on a page of a list, where the request names no limit. @default 50 */
  pageSize?: number | undefined;
  /** Calls of the unified API that each account may make in a second: the next ones get 429 with `Retry-After`. @default no limit */
  callsPerSecond?: number | undefined;
  /** How long a delta sync takes to begin, and how long its tokens hold. */
  deltaSync?: DeltaSyncOptions | undefined;
  /** What the service's description and its public reference tell differently. */
  variants?: Variants | undefined;
}

/** Of what is told in two ways, the one to play. The default is that of the service's description. */
export interface Variants {
  /** The status of `POST /v1/calendars`. @default 201 */
  calendarCreatedStatus?: 200 | 201 | undefined;
  /** The field of an event. @default "iCalUId" */
  iCalUId?: "iCalUId" | "iCalUid" | undefined;
  /** The answer of an attendee who may come. @default "tentative" */
  tentative?: "tentative" | "tentitive" | undefined;
  /** The form of `trackingId` in the answer to a sending. Events have a number. @default "text" */
  trackingId?: "text" | "number" | undefined;
}

/** An answer of the program's own. */
export interface GivenAnswer {
  /** @default 200 */
  status?: number | undefined;
  /** Its body. @default none */
  json?: unknown;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** What an account has when it is opened. Nobody is notified of it. */
export interface AccountSeed {
  /** @default "Grace Hopper" */
  name?: string | undefined;
  /** @default one with the account's id */
  email?: string | undefined;
  /** False: lists have a preview of a message's body, as with some kinds of account. @default true */
  hasBodiesInLists?: boolean | undefined;
  /** Messages, the oldest first: any fields. */
  mail?: readonly object[] | undefined;
  /** Events of the primary calendar. */
  events?: readonly object[] | undefined;
  /** More calendars. One that is shared belongs to another account, and is listed where `withShared` is set. */
  calendars?: readonly { name: string; isShared?: boolean; events?: readonly object[] }[] | undefined;
  contacts?: readonly object[] | undefined;
  /** Tasks of the default list. */
  tasks?: readonly object[] | undefined;
  /** More task lists. */
  taskLists?: readonly { title: string; tasks?: readonly object[] }[] | undefined;
}

/** The application of the sync-configuration API. @see protocol 5 */
export interface SyncConfigSigning {
  /** @default "app-emulator" */
  appId?: string | undefined;
  /** @default one that follows from the seed */
  appSecret?: string | undefined;
  /** Whether the ids are put into the signed text, or it has the words `OrgId:UserId:`: the description leaves that open. @default "ids" */
  signedText?: "ids" | "literal" | undefined;
}

/** How a delivery that was not answered 200 is sent again. @see protocol 8 */
export interface RedeliveryOptions {
  /** Whether it has the timestamp and the signature of the first attempt. @default "kept" */
  timestamp?: "kept" | "renewed" | undefined;
  /** Whether a delivery holds up the later ones of its subscription. @default false */
  headOfLine?: boolean | undefined;
  /** Attempts after which a delivery is dropped. @default no limit */
  giveUpAfter?: number | undefined;
}

/** An account, with the mailbox, calendars, contacts and tasks behind it. */
export interface EmulatedAccount {
  /** As deliveries have it. */
  readonly accountId: number;
  /** For `Authorization: Bearer`. */
  readonly token: string;
  /** The service loses its access: each subscription is sent `lifecycle.error`, and changes are no longer seen. @see protocol 3 */
  expireCredentials(): Promise<void>;
  /** The access is back: each subscription is sent `lifecycle.active`. */
  restoreCredentials(): Promise<void>;
  /** False: billing has lapsed. Its subscriptions are `disabledByBilling`, and no notice says so; changes are not announced. */
  setPaid(isPaid: boolean): Promise<void>;
  /** A message arrives. @param mail fields such as `subject`, `from`, `threadId` */
  receiveMail(mail?: object): Promise<{ readonly id: string; readonly threadId: string }>;
  /** An event enters a calendar: in the next full hour, unless it says when. @param calendarId @default "primary" */
  addEvent(event?: object, calendarId?: string): Promise<{ readonly id: string }>;
  /** A contact is added. */
  addContact(contact?: object): Promise<{ readonly id: string }>;
  /** A task is added. @param taskListId @default "default" */
  addTask(task?: object, taskListId?: string): Promise<{ readonly id: string }>;
  /**
   * A record changes.
   *
   * @param resource where it is, as a subscription names it: `/email/messages`, `/calendars/primary/events`
   * @throws UsageError `record-not-found`
   */
  update(resource: string, id: string, fields?: object): Promise<void>;
  /** A record is deleted. @throws UsageError `record-not-found` */
  remove(resource: string, id: string): Promise<void>;
}

/** A subscription as it stands. @see protocol 3 */
export interface SubscriptionState {
  readonly id: number;
  readonly accountId: number;
  readonly resource: string;
  readonly notificationUrl: string;
  /** False while the service has no access to the account. */
  readonly active: boolean;
  readonly failSince?: Date | undefined;
  readonly failDescription?: string | undefined;
  /** Deliveries that are not settled. */
  readonly waiting: number;
  /** When the next of them is due, by the emulator's clock. */
  readonly nextAttemptAt?: Date | undefined;
  /** What goes wrong with its deliveries, in words. */
  readonly fault?: FaultKind | undefined;
}

/** Plays the service on a local port. */
export interface Emulator {
  /** Where it listens, such as `http://127.0.0.1:8788`. */
  readonly url: string;
  /** The base URL of the sync-configuration API. @see protocol 9 */
  readonly syncConfigUrl: string;
  /** Deliveries are signed with it. */
  readonly secret: string;
  /** Of the application that signs users up at the sync-configuration API. */
  readonly appId: string;
  /** Sign-ups are signed with it. */
  readonly appSecret: string;
  /** Give it to `createReceiver` as well, if it is virtual: otherwise deliveries of later days are refused as from the future. */
  readonly clock: Clock;
  /** Opens an account. */
  account(seed?: AccountSeed): Promise<EmulatedAccount>;
  /**
   * Subscribes as `POST /v1/subscriptions` does, handshake included.
   *
   * @returns the subscription's id
   * @throws UsageError `handshake-failed` with what the receiver answered, `subscription-refused` for a resource or a URL that cannot be
   */
  subscribe(account: EmulatedAccount, resource: string, notificationUrl: string): Promise<number>;
  /**
   * Delivers this. The envelope is the subscription's, whatever the events say.
   *
   * @param what entries of `payloads`, or an event such as `sample("email.created")`
   * @throws UsageError `subscription-not-found`, `emit-invalid` for an event of another resource
   */
  emit(subscription: number, what: readonly object[] | AnyEvent): Promise<void>;
  /**
   * Lets the deliveries of a subscription fail so from now on, until called with undefined.
   *
   * @param fault one for all, or a list: the first for the next delivery, the second for the one after it, then none
   * @throws UsageError `subscription-not-found`, `fault-invalid`
   */
  fault(subscription: number, fault: Fault | readonly (Fault | undefined)[] | undefined): void;
  /**
   * An addressee opens a message that was sent with tracking: subscribers to `/email/tracking` get `open`.
   *
   * @param mail the `id` of the answer to the sending, where `returnIds` was set
   * @throws UsageError `record-not-found`
   */
  open(mail: { readonly id: string }, by?: Opener): Promise<void>;
  /**
   * Answers all requests of this method and path so from now on, until called with undefined: for what the emulator does not play, and for
   * what goes wrong. `reset` ends it as well.
   *
   * @param path without a query; a part in braces is any text, such as `/v1/user/accounts/{id}`
   * @throws UsageError `option-invalid`
   */
  respond(method: string, path: string, answer: GivenAnswer | undefined): void;
  /** All subscriptions. Those that were deleted, or answered 422, are gone. */
  readonly subscriptions: readonly SubscriptionState[];
  /**
   * Lets virtual time pass. What becomes due happens in order; before each step the answers of all attempts are waited for, at most 5 s
   * of real time, then those count as timed out.
   *
   * @param ms milliseconds
   * @throws UsageError `clock-not-virtual`
   */
  advance(ms: number): Promise<void>;
  /** Resolves when nothing is being sent and nothing is due now. */
  settled(): Promise<void>;
  /** The latest 10,000 attempts to deliver, as they ended. */
  readonly journal: readonly Attempt[];
  /** How many attempts there were, those included that have left the journal. */
  readonly attempts: number;
  /** Begins anew: no accounts, no subscriptions, an empty journal, and the ids of the seed from the start. A virtual clock stands where it is. */
  reset(): Promise<void>;
  /** Ends everything under way and stops listening. */
  close(): Promise<void>;
  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void>;
}
