// For authors of mounts: how a request goes in, and how a reply comes out.
export type { MountOptions, RawRequest, ReadLimits, Reply } from "./receiver/raw.ts";
export { bodyConsumed, bodyCutOff, bodyTooLarge } from "./receiver/body-errors.ts";

// For authors of inboxes: the port in its two halves.
export type {
  Capabilities,
  Claim,
  Claimed,
  ClaimedJob,
  ClaimLimits,
  Expanded,
  Expansion,
  Inbox,
  InboxDisk,
  InboxHost,
  InboxJobs,
  InboxStats,
  JobError,
  JobOutcome,
  JobQuery,
  JobSelection,
  Keeps,
  Kept,
  NewDelivery,
  NewEvent,
  NewJob,
  Readiness,
  Settlement,
  StoredJob,
  Tombstone,
  Tombstones,
  Unexpanded,
  UnhandledJob,
  Worker,
  WorkingInbox,
  WritingInbox,
} from "./inbox/port.ts";
export { toStored, type Delivery, type StoredDelivery } from "./inbox/delivery.ts";
export type { Job, JobState } from "./inbox/job.ts";
export type { Clock, Timer } from "./clock.ts";
export type { Logger } from "./log.ts";
export type { SingleEvent } from "./protocol/events.ts";
export { StorageError, type ErrorOptions, type HooklineError } from "./errors.ts";

// The rules that every inbox keeps to: what a job's progress is, and who is next in a lane.
export { claimed, FRESH, isDue, MOST_DEATHS, orphaned, settled, SUSPECT_DEATHS, type Progress } from "./inbox/state.ts";
export { createLaneBook, type Lane, type LaneBook, type LaneRow } from "./inbox/lane-book.ts";
export { createChurnMap, type ChurnMap } from "./inbox/churn-map.ts";
