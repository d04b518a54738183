// The service's APIs. Works alone, on any runtime that has fetch and Web Crypto.
export { clients, createClient, type AnyRequest, type Client, type ClientOptions } from "./client/create-client.ts";
export {
  createApplication,
  type AccountListOptions,
  type Accounts,
  type Application,
  type ApplicationOptions,
  type CreateAccountOptions,
  type NewAccount,
  type ServiceAccounts,
} from "./client/application/create-application.ts";
export {
  createOAuth,
  type Authorization,
  type AuthorizeRequest,
  type AuthorizeUserRequest,
  type OAuth,
  type OAuthOptions,
} from "./client/oauth/create-oauth.ts";
export {
  createSyncConfigClient,
  type SyncConfigClient,
  type SyncConfigOptions,
  type SyncConfigUser,
} from "./client/sync-config/create-sync-config-client.ts";
export {
  BadRequest,
  NotFound,
  NotReady,
  PreconditionFailed,
  RateLimited,
  ServiceError,
  TokenExpired,
  Unauthorized,
  type ServiceErrorFacts,
} from "./client/errors.ts";
export type { Page, Paged } from "./client/paging.ts";
export type { ConnectionOptions, RequestOptions, RetryOptions } from "./client/request-options.ts";
export type { Instant, TextLike, Window } from "./client/times.ts";

// Records
export type { Account, AccountToken } from "./client/records/account.ts";
export type { Attachment } from "./client/records/attachment.ts";
export type { BusyTime, FreeBusySchedule, MeetingTimes, TimeSlot } from "./client/records/availability.ts";
export type {
  Attendee,
  CalendarEvent,
  EmailAddress,
  EventSeries,
  EventTime,
  MeetingInfo,
  OccurrenceInfo,
  Recurrence,
  SavedEvent,
} from "./client/records/calendar-event.ts";
export type {
  AttachedGroup,
  BookableTime,
  BookableTimes,
  BookedMeeting,
  BookingProfile,
  WeekWorkHours,
} from "./client/records/booking.ts";
export type { Calendar } from "./client/records/calendar.ts";
export type { Contact, ContactCompany, ContactEmail, ContactName, ContactPhone } from "./client/records/contact.ts";
export type {
  Draft,
  PreparedTracking,
  SavedDraft,
  ScheduledDraft,
  SentDraft,
  TrackingRequest,
} from "./client/records/draft.ts";
export type { Folder, WellKnownFolders } from "./client/records/folder.ts";
export type { FollowupStatus, Message, MessageAttachment, SentMessage } from "./client/records/message.ts";
export type { Open } from "./client/records/reader.ts";
export type { Subscription } from "./client/records/subscription.ts";
export type { DeletedRecord, SyncStart } from "./client/records/sync.ts";
export type { Task, TaskList } from "./client/records/task.ts";
export type { TrackedMessage, TrackingActivity } from "./client/records/tracking.ts";

// Parts of a client's account, each a module of its own
export { accountOf, type OwnAccount, type OwnAccountOptions } from "./client/unified/account.ts";
export {
  draftsOf,
  draftTrackingOf,
  type Drafts,
  type DraftTracking,
  type DraftTrackingBody,
  type DraftTrackingOptions,
  type SendDraftOptions,
  type SentDraftIds,
} from "./client/unified/drafts.ts";
export { foldersOf, type FolderMessagesOptions, type Folders, type NewFolder } from "./client/unified/folders.ts";
export {
  trackingOf,
  type PurgeOptions,
  type TrackedMessageKey,
  type Tracking,
  type TrackingEventsOptions,
  type TrackingListOptions,
} from "./client/unified/tracking.ts";

// Bookings: parts of a client and of an application, and a public form
export { createBookingForm, type BookingForm, type BookingFormOptions } from "./client/bookings/booking-form.ts";
export type { BookableTimesOptions, BookOptions, NewMeeting } from "./client/bookings/booking-calls.ts";
export {
  bookingsOf,
  groupBookingsOf,
  type AccountBookings,
  type AvailableProfilesRequest,
  type BookingProfileBody,
  type Bookings,
  type GroupBookings,
  type NewGroup,
} from "./client/bookings/bookings.ts";

// Members of a client
export type { Availability, FreeBusyRequest, MeetingTimesRequest } from "./client/unified/availability.ts";
export type { AvailableTimesRequest, OneCalendar } from "./client/unified/calendar.ts";
export type { CalendarBody, CalendarListOptions, Calendars } from "./client/unified/calendars.ts";
export type { Conversations, FollowupOptions } from "./client/unified/conversations.ts";
export type { DeltaOptions, DeltaSync } from "./client/unified/delta-sync.ts";
export type {
  CreateEventOptions,
  Events,
  FindOptions,
  MeetingResponse,
  NativePropertiesOptions,
  NotifyOptions,
  UpdateEventOptions,
} from "./client/unified/events.ts";
export type {
  BodyTypeOptions,
  EmailSyncOptions,
  GetMessageOptions,
  MessageListOptions,
  Messages,
  MessageStatus,
  SendOptions,
} from "./client/unified/messages.ts";
export type { Contacts, GetContactOptions } from "./client/unified/contacts.ts";
export type { SavedRecord, UpdateOptions } from "./client/unified/records.ts";
export type { NewSubscription, SubscriptionListOptions, Subscriptions } from "./client/unified/subscriptions.ts";
export type { TaskListBody, TaskLists, Tasks, TaskSyncOptions } from "./client/unified/tasks.ts";

// Members of a user of the sync configuration
export type { FoundService, NewRemoteService, RemoteServices, SyncSettingsOf } from "./client/sync-config/services.ts";
export type { SignedText, SignUpProfile } from "./client/sync-config/sign-up.ts";
export type {
  CurrentUser,
  RemoteService,
  SyncModule,
  SyncSettings,
  SyncStatus,
  TemplateGroup,
} from "./client/sync-config/sync-records.ts";
export type {
  Activation,
  Review,
  ReviewAndActivateOptions,
  RunOptions,
  SyncRuns,
} from "./client/sync-config/sync-runs.ts";
export type { TemplateGroups } from "./client/sync-config/template-groups.ts";
