// Making one.
export { createReceiver } from "./kit/create-receiver.ts";
export { forwardInbox } from "./inbox/forward.ts";
export { memoryInbox, type MemoryInboxOptions } from "./inbox/memory.ts";
export type { Closed, Health, Receiver, Stats } from "./kit/face.ts";
export type { ReceiverOptions } from "./kit/options.ts";
export type { Inbox, Keeps } from "./inbox/port.ts";
export type { Secret } from "./protocol/keys.ts";
export type { SecretRequest, SecretSource } from "./receiver/ring.ts";
export type { Logger } from "./log.ts";
export type { Clock, Timer } from "./clock.ts";

// Handling events.
export type { Context, ContextState } from "./dispatch/context.ts";
export type { Handler, HandlerOptions, LaneOption, Middleware } from "./dispatch/handler.ts";
export { retryAfter } from "./dispatch/retry-after.ts";
export { GiveUp, RetryLater, type RetryTime } from "./dispatch/verdicts.ts";
export type {
  AnyEvent,
  Change,
  ChangeFamily,
  ChangeType,
  Envelope,
  EventMap,
  EventName,
  EventOf,
  Family,
  Id,
  Mail,
  OneAtATime,
  Tracking,
  UnknownEvent,
  View,
} from "./protocol/events.ts";

// Unsubscribing: the only thing that becomes a 422.
export type { Decided, Gate } from "./receiver/gate.ts";
export type { UnsubscribeDecision } from "./receiver/decision.ts";

// Looking inside.
export type { Job, JobState } from "./inbox/job.ts";
export type { JobFilter, Jobs, Selection } from "./kit/jobs-face.ts";
export type { JobMoment, Observer } from "./observers.ts";

// Mounts and queues of one's own.
export type { StoredDelivery } from "./inbox/delivery.ts";
export type { MountOptions, RawRequest, ReadLimits, Reply } from "./receiver/raw.ts";
export type { AfterHandlers, OutlivesFunction, WontOutlive } from "./receiver/answering.ts";

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
