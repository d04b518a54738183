import type { Id } from "../../protocol/event-types.ts";
import type { Client } from "../create-client.ts";
import { countedPageReader, createPaged, type Paged } from "../paging.ts";
import { readNothing } from "../records/reader.ts";
import {
  readTrackedMessage,
  readTrackingActivity,
  type TrackedMessage,
  type TrackingActivity,
} from "../records/tracking.ts";
import type { RequestOptions } from "../request-options.ts";
import { toTimestamp, type Instant } from "../times.ts";
import { sendOf } from "./part.ts";

/** Messages that were sent with tracking. Lists are counted: the token of a page is the number of records before it. @see email/tracking */
export interface Tracking {
  /** `GET /v1/email/tracking` */
  list(options?: TrackingListOptions): Paged<TrackedMessage>;
  /** `GET /v1/email/tracking/{id}`. @throws NotFound */
  get(id: Id, options?: RequestOptions): Promise<TrackedMessage>;
  /** `GET /v1/email/tracking/events`: what happened to all of them. */
  events(options?: TrackingEventsOptions): Paged<TrackingActivity>;
  /** `GET /v1/email/tracking/{id}/events`: what happened to one. */
  eventsOf(id: Id, options?: RequestOptions): Paged<TrackingActivity>;
  /** `GET /v1/email/tracking/{trackingId}/events/{id}`. @throws NotFound */
  event(trackingId: Id, id: Id, options?: RequestOptions): Promise<TrackingActivity>;
  /** `POST /v1/email/tracking/purgeMyTracking`: forgets openings by a program with this User-Agent. */
  purge(options?: PurgeOptions): Promise<void>;
  /** `POST /v1/email/tracking/ignoreOpenClicks`: whether openings of a message are ignored. @throws NotFound */
  ignoreOpens(message: TrackedMessageKey, isIgnored: boolean, options?: RequestOptions): Promise<void>;
}

/** Which tracked messages are listed. */
export interface TrackingListOptions extends RequestOptions {
  /** Those to which something has happened. @default false */
  withActivityOnly?: boolean | undefined;
  contextContains?: string | undefined;
  threadId?: string | undefined;
  /** Without drafts that were not sent. @default false */
  showSentOnly?: boolean | undefined;
}

/** Which events are listed. */
export interface TrackingEventsOptions extends RequestOptions {
  threadId?: string | undefined;
  from?: Instant | undefined;
  to?: Instant | undefined;
}

/** What is forgotten. */
export interface PurgeOptions extends RequestOptions {
  threadId?: string | undefined;
  /** Of the browser that opened the messages. @default that of the runtime's fetch */
  userAgent?: string | undefined;
}

/** One of these names a message. */
export interface TrackedMessageKey {
  messageId?: string | undefined;
  inetMessageId?: string | undefined;
}

const readPage = countedPageReader(readTrackedMessage);
const readEvents = countedPageReader(readTrackingActivity);
const TRACKING = "/v1/email/tracking";

/** The tracked messages of a client's account: a part of its own. */
export function trackingOf(client: Client): Tracking {
  const send = sendOf(client);
  return {
    list: ({ withActivityOnly, contextContains, threadId, showSentOnly, ...options } = {}) =>
      createPaged((offset) =>
        send({
          method: "GET",
          path: TRACKING,
          query: { offset, withActivityOnly, contextContains, threadId, showSentOnly },
          read: readPage,
          options,
        }),
      ),
    get: (id, options) =>
      send({ method: "GET", path: `${TRACKING}/{id}`, params: { id }, read: readTrackedMessage, options }),
    events({ threadId, from, to, ...options } = {}) {
      const query = { threadId, from: from && toTimestamp("from", from), to: to && toTimestamp("to", to) };
      return createPaged((offset) =>
        send({ method: "GET", path: `${TRACKING}/events`, query: { offset, ...query }, read: readEvents, options }),
      );
    },
    eventsOf: (id, options) =>
      createPaged((offset) =>
        send({
          method: "GET",
          path: `${TRACKING}/{id}/events`,
          params: { id },
          query: { offset },
          read: readEvents,
          options,
        }),
      ),
    event: (trackingId, id, options) =>
      send({
        method: "GET",
        path: `${TRACKING}/{trackingId}/events/{id}`,
        params: { trackingId, id },
        read: readTrackingActivity,
        options,
      }),
    purge: ({ threadId, userAgent, ...options } = {}) =>
      send({
        method: "POST",
        path: `${TRACKING}/purgeMyTracking`,
        query: { threadId },
        ...(userAgent !== undefined && { headers: { "User-Agent": userAgent } }),
        ...repeatable,
        options,
      }),
    ignoreOpens: ({ messageId, inetMessageId }, isIgnored, options) =>
      send({
        method: "POST",
        path: `${TRACKING}/ignoreOpenClicks`,
        query: { messageId, inetMessageId, isIgnored },
        ...repeatable,
        options,
      }),
  };
}

/** Done twice is done once. */
const repeatable = { repeatable: true, read: readNothing, answerOptional: true };
