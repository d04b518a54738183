// Making one.
export { createReceiver } from "./receiver/create-receiver.ts";
export { forwardInbox } from "./inbox/forward-inbox.ts";
export { memoryInbox, type MemoryInboxOptions } from "./inbox/memory/memory-inbox.ts";
export type { Closed, Health, Receiver, Stats } from "./receiver/receiver-types.ts";
export type { ReceiverOptions } from "./receiver/options.ts";
export type { Inbox, StorageKind } from "./inbox/port/inbox.ts";
export type { Secret } from "./protocol/signature/secrets.ts";
export type { SecretRequest, SecretSource } from "./ingest/secret-lookup.ts";
export type { Logger } from "./logger.ts";
export type { Clock, Timer } from "./clock.ts";

// Handling events.
export type { Context, ContextState } from "./dispatch/calls/context.ts";
export type { Handler, HandlerOptions, LaneOption, Middleware } from "./dispatch/handlers.ts";
export {
  GiveUp,
  RetryLater,
  retryAfter,
  type RetryLaterOptions,
  type RetryTime,
} from "./dispatch/retries/retry-errors.ts";
export type { Booking } from "./protocol/booking.ts";
export type { Change, ChangeFamily, ChangeType, Family } from "./protocol/change.ts";
export type {
  AnyEvent,
  Envelope,
  EventMap,
  EventName,
  EventOf,
  Id,
  OneAtATime,
  UnknownEvent,
} from "./protocol/event-types.ts";
export type { Mail, Tracking, View } from "./protocol/tracking.ts";

// Unsubscribing: the only thing that becomes a 422.
export type { Decided, Gate, UnsubscribeDecision } from "./ingest/unsubscribe-gate.ts";

// Looking inside.
export type { Job, JobGroup, JobState, JobSummary } from "./inbox/port/jobs.ts";
export type { GapCause } from "./inbox/port/gaps.ts";
export type { LiveWorker } from "./inbox/port/inbox.ts";
export type {
  BlockedLane,
  ErroredSubscriptionInfo,
  GapInfo,
  ReceiverLists,
  TombstoneInfo,
} from "./receiver/lists/lists-types.ts";
export type { Erasure, JobFilter, Jobs, Remaining, Selection } from "./receiver/jobs/jobs-types.ts";
export type { Flow, FlowPause, FlowTarget } from "./receiver/flow.ts";
export type { JobMoment, Observer } from "./observe/observers.ts";

// Mounts and queues of one's own.
export type { StoredDelivery } from "./inbox/port/delivery.ts";
export type { SeenOptions, SeenStore } from "./inbox/port/seen-store.ts";
export type { MountOptions, RawRequest, ReadLimits, Reply } from "./ingest/types.ts";
export type { AfterHandlers, OutlivesFunction, WontOutlive } from "./ingest/after-handlers.ts";

// Errors.
export {
  type ErrorOptions,
  BodyError,
  ClosedError,
  HooklineError,
  isHooklineError,
  SignatureError,
  StorageError,
  UsageError,
} from "./errors.ts";
