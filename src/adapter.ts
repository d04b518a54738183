// `hookline/adapter`: what mounts and inboxes stand on.

// For authors of mounts: how a request goes in, and how a reply comes out.
export type { MountOptions, RawRequest, ReadLimits, Reply } from "./ingest/types.ts";
export { toAfterHandlers, type AfterHandlers, type OutlivesFunction } from "./ingest/after-handlers.ts";
export { workAfterResponse } from "./receiver/serverless.ts";
export { hasOwnInbox } from "./receiver/internals.ts";
export { bodyConsumed, bodyCutOff, bodyTooLarge } from "./ingest/body-limits.ts";

// For authors of inboxes: the port, a writing half and a working half.
export type {
  Claim,
  Claimed,
  ClaimedJob,
  ClaimLimits,
  ClaimRules,
  JobError,
  JobOutcome,
  Settlement,
} from "./inbox/port/claims.ts";
export { STORED_BEFORE, toStored, type Delivery, type StoredDelivery } from "./inbox/port/delivery.ts";
export type {
  Expanded,
  Expansion,
  NewDelivery,
  NewEvent,
  NewJob,
  StoreResult,
  Unexpanded,
} from "./inbox/port/delivery.ts";
export type {
  AskedUnsubscribe,
  Capabilities,
  Inbox,
  InboxDisk,
  InboxHost,
  InboxStats,
  InboxWorkers,
  LiveWorker,
  Readiness,
} from "./inbox/port/inbox.ts";
export type { StorageKind, Worker, WorkingInbox, WritingInbox } from "./inbox/port/inbox.ts";
export {
  RESOURCE_LIFE_MS,
  type Gap,
  type GapCause,
  type GapCount,
  type GapQuery,
  type Gaps,
  type SubscribedResource,
} from "./inbox/port/gaps.ts";
export { addErased, ERASED_REASON, NOTHING_ERASED, type ErasedRows } from "./inbox/port/jobs.ts";
export type { HandledType, InboxJobs, Job, JobQuery, JobSelection, JobState, Reopened } from "./inbox/port/jobs.ts";
export type { BlockedQuery, StoredBlocked, StoredJob, UnhandledJob } from "./inbox/port/jobs.ts";
export { MOST_GROUPS, type JobGroup, type JobSummary } from "./inbox/port/jobs.ts";
export type { KeyValues } from "./inbox/port/key-values.ts";
export type { Pause, Paused, Pauses } from "./inbox/port/pauses.ts";
export type { Owner } from "./inbox/turns.ts";
export { toSeen, type Seen } from "./inbox/port/seen-store.ts";
export { TOMBSTONE_LIFE_MS, type Tombstone, type Tombstones } from "./inbox/port/tombstones.ts";
export type {
  ErroredSubscription,
  KnownSubscription,
  LifecycleNotice,
  NoticeOrigin,
  Subscriptions,
} from "./inbox/port/subscriptions.ts";
export { noticeOf } from "./inbox/errored-subscriptions.ts";
export { completionOf, type CompletedCall, type Completion } from "./inbox/port/transactional.ts";
export type { SqlTransaction, Transactional } from "./inbox/port/transactional.ts";
export type { Clock, Timer } from "./clock.ts";
export type { Logger } from "./logger.ts";
export type { Envelope, SingleEvent } from "./protocol/event-types.ts";
export { parseDocument, type Document } from "./protocol/envelope.ts";
export { accountOf } from "./protocol/id.ts";
export { assertOptions, kindOf, oneText, wholeNumber, type GivenNumber, type GivenText } from "./assert.ts";
export { StorageError, type ErrorOptions, type HooklineError } from "./errors.ts";

// Counts of jobs that an inbox keeps.
export { countedStates, MOST_COUNTED, toSummary, type CountedGroup } from "./inbox/jobs/job-counts.ts";

// The rules that every inbox shares: the progress of a job, and which job of a lane is next.
export { MOST_DEATHS, orphaned, SUSPECT_DEATHS } from "./inbox/job-deaths.ts";
export { claimed, FRESH, isDue, settled, type Progress } from "./inbox/job-state.ts";
export { createLaneQueues, type Lane, type LaneQueues, type LaneRow, type WithdrawnLane } from "./inbox/lane-queues.ts";
export { windowAfter, windowStart, type LaneWindow } from "./inbox/lane-window.ts";
export { createCompactingMap, type CompactingMap } from "./inbox/collections/compacting-map.ts";
