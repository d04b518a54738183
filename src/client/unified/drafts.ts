import type { Client } from "../create-client.ts";
import {
  readDraft,
  readPreparedTracking,
  readSavedDraft,
  readSentDraft,
  type Draft,
  type PreparedTracking,
  type SavedDraft,
  type SentDraft,
  type TrackingRequest,
} from "../records/draft.ts";
import { readNothing } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";
import { toTimestamp, type Instant } from "../times.ts";
import type { BodyTypeOptions, GetMessageOptions } from "./messages.ts";
import { sendOf } from "./part.ts";

/** Drafts. @see the service's public description, email/drafts */
export interface Drafts {
  /** `POST /v1/email/drafts`. It needs no addressees yet. */
  create(mail: object, options?: BodyTypeOptions): Promise<SavedDraft>;
  /** `GET /v1/email/drafts/{draftId}`. @throws NotFound, also once it was sent */
  get(
    id: string,
    options?: Omit<GetMessageOptions, "stripQuoted" | "requireThreadId" | "resolveDraftId">,
  ): Promise<Draft>;
  /** `PUT /v1/email/drafts/{draftId}`: what is not given is gone. @throws NotFound */
  replace(id: string, mail: object, options?: BodyTypeOptions): Promise<SavedDraft>;
  /** `DELETE /v1/email/drafts/{draftId}`. @throws NotFound */
  delete(id: string, options?: RequestOptions): Promise<void>;
  /**
   * `POST /v1/email/drafts/{draftId}/send`. Never repeated by itself. An error whose `outcomeUnknown` is true leaves open whether the mail
   * went out.
   */
  send(id: string, options?: SendDraftOptions): Promise<SentDraft>;
}

/** How a draft is sent. */
export interface SendDraftOptions extends RequestOptions {
  /** @default at once */
  sendTime?: Instant | undefined;
  tracking?: TrackingRequest | undefined;
}

/** Tracking of drafts that another program sends. @see the service's public description, email/draftTracking */
export interface DraftTracking {
  /** `POST /v1/email/draftTracking/create`: gives the HTML that is to be sent in place of `htmlText`. */
  create(draftId: string, body: DraftTrackingBody, options?: DraftTrackingOptions): Promise<PreparedTracking>;
  /** `PATCH /v1/email/draftTracking/{draftId}/convert`: the draft was sent, as this message. */
  convert(draftId: string, body: SentDraftIds, options?: RequestOptions): Promise<void>;
  /** `PATCH /v1/email/draftTracking/{draftId}` */
  update(draftId: string, body: { context?: string | undefined }, options?: RequestOptions): Promise<void>;
}

/** What is to be tracked. */
export interface DraftTrackingBody {
  htmlText: string;
  tracking?: TrackingRequest | undefined;
}

/** How it is created. */
export interface DraftTrackingOptions extends RequestOptions {
  /** The service may not know the draft. @default false */
  ignoreNotFound?: boolean | undefined;
}

/** Of the message that was sent. */
export interface SentDraftIds {
  threadId?: string | undefined;
  messageId?: string | undefined;
  internetMessageId?: string | undefined;
}

const DRAFTS = "/v1/email/drafts";
const DRAFT = `${DRAFTS}/{draftId}`;
const TRACKING = "/v1/email/draftTracking";
const done = { read: readNothing, answerOptional: true };

/** The drafts of a client's account: a part of its own. */
export function draftsOf(client: Client): Drafts {
  const send = sendOf(client);
  return {
    create: (body, { bodyType, ...options } = {}) =>
      send({ method: "POST", path: DRAFTS, query: { bodyType }, body, read: readSavedDraft, options }),
    get: (draftId, { bodyType, nativeProperties, loadInlines, ...options } = {}) =>
      send({
        method: "GET",
        path: DRAFT,
        params: { draftId },
        query: { bodyType, nativeProperties, loadInlines },
        read: readDraft,
        options,
      }),
    replace: (draftId, body, { bodyType, ...options } = {}) =>
      send({
        method: "PUT",
        path: DRAFT,
        params: { draftId },
        query: { bodyType },
        body,
        read: readSavedDraft,
        options,
      }),
    delete: (draftId, options) => send({ method: "DELETE", path: DRAFT, params: { draftId }, ...done, options }),
    send: async (draftId, { sendTime, tracking, ...options } = {}) =>
      send({
        method: "POST",
        path: `${DRAFT}/send`,
        params: { draftId },
        query: { sendTime: sendTime && toTimestamp("sendTime", sendTime) },
        body: { tracking },
        read: readSentDraft,
        answerOptional: true,
        options,
      }),
  };
}

/** The tracking of drafts of a client's account: a part of its own. */
export function draftTrackingOf(client: Client): DraftTracking {
  const send = sendOf(client);
  return {
    create: (draftId, body, { ignoreNotFound, ...options } = {}) =>
      send({
        method: "POST",
        path: `${TRACKING}/create`,
        query: { draftId, ignoreNotFound },
        body,
        read: readPreparedTracking,
        options,
      }),
    convert: (draftId, body, options) =>
      send({ method: "PATCH", path: `${TRACKING}/{draftId}/convert`, params: { draftId }, body, ...done, options }),
    update: (draftId, body, options) =>
      send({
        method: "PATCH",
        path: `${TRACKING}/{draftId}`,
        params: { draftId },
        body,
        // The same context twice is the same context.
        repeatable: true,
        ...done,
        options,
      }),
  };
}
