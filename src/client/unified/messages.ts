import type { Send } from "../http/transport.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import { readAttachment, type Attachment } from "../records/attachment.ts";
import { readMessage, readSentMessage, type Message, type SentMessage } from "../records/message.ts";
import { readNothing } from "../records/reader.ts";
import type { DeletedRecord } from "../records/sync.ts";
import type { RequestOptions } from "../request-options.ts";
import { createDeltaSync, type DeltaSync } from "./delta-sync.ts";

/** E-mail messages. @see protocol 4.1, "Email messages and conversations" */
export interface Messages {
  /** `GET /v1/email/messages`, newest first. */
  list(options?: MessageListOptions): Paged<Message>;
  /** `GET /v1/email/messages/{messageId}`. @throws NotFound, NotReady with `requireThreadId` */
  get(id: string, options?: GetMessageOptions): Promise<Message>;
  /**
   * `POST /v1/email/messages`. Never repeated by itself. An error whose `outcomeUnknown` is true leaves open whether the mail went out:
   * look for it before you send it again. A success with a `warning` is a success: the mail went out.
   */
  send(mail: object, options?: SendOptions): Promise<SentMessage>;
  /**
   * `POST /v1/email/messages/{messageId}/reply`: in its conversation, to its sender unless `reply` has other addressees. As `send`, it is
   * never repeated by itself. @throws NotFound
   */
  reply(id: string, reply: object, options?: SendOptions): Promise<SentMessage>;
  /** `GET /v1/email/messages/{messageId}/attachments/{attachmentId}`. @throws NotFound */
  attachment(id: string, attachmentId: string, options?: RequestOptions): Promise<Attachment>;
  /** `DELETE /v1/email/messages/{messageId}`: moves it to the trash. @throws NotFound */
  trash(id: string, options?: RequestOptions): Promise<void>;
  /** `GET /v1/email/messages/{messageId}/raw`: as its sender's program wrote it. */
  raw(id: string, options?: RequestOptions): Promise<string>;
  /** `POST /v1/email/messages/{messageId}/status` */
  setStatus(id: string, body: MessageStatus, options?: RequestOptions): Promise<void>;
  /** Changes since a token. @see protocol 4.1, "Email sync" */
  readonly sync: DeltaSync<Message, DeletedRecord, EmailSyncOptions>;
}

/** The form of bodies. */
export interface BodyTypeOptions extends RequestOptions {
  bodyType?: "html" | "text" | undefined;
}

/** Which messages are listed. */
export interface MessageListOptions extends BodyTypeOptions {
  /** A search, such as `from:ada@example.com after:2026-03-01`. */
  q?: string | undefined;
  /** @default false */
  includeTrashAndJunk?: boolean | undefined;
  /** Fields of the provider's own that are wanted as well. */
  nativeProperties?: readonly string[] | undefined;
}

/** What is wanted of a message. */
export interface GetMessageOptions extends BodyTypeOptions {
  /** Fields of the provider's own that are wanted as well. */
  nativeProperties?: readonly string[] | undefined;
  /** Inline attachments with their content. @default false */
  loadInlines?: boolean | undefined;
  /** The body without what it quotes. @default false */
  stripQuoted?: boolean | undefined;
  /** Fails with {@link NotReady} until the service knows the thread. @default false */
  requireThreadId?: boolean | undefined;
  /** With the `draftId` of a draft. @default false */
  resolveDraftId?: boolean | undefined;
}

/** How a mail is sent. */
export interface SendOptions extends BodyTypeOptions {
  /** The answer has the ids of message and thread, where the service can find them. */
  returnIds?: boolean | undefined;
}

/** What is to be set. */
export interface MessageStatus {
  unread: boolean;
  readonly [field: string]: unknown;
}

/** Which messages are synced. */
export interface EmailSyncOptions {
  /** Received in this many last days. */
  daysWithin?: number | undefined;
  bodyType?: "html" | "text" | undefined;
}

const readPage = pageReader(readMessage);
const MESSAGES = "/v1/email/messages";
const MESSAGE = `${MESSAGES}/{messageId}`;

export function createMessages(send: Send): Messages {
  return {
    list: ({ q, bodyType, includeTrashAndJunk, nativeProperties, ...options } = {}) =>
      createPaged((pageToken) =>
        send({
          method: "GET",
          path: MESSAGES,
          query: { pageToken, q, bodyType, includeTrashAndJunk, nativeProperties },
          read: readPage,
          options,
        }),
      ),
    get(id, given = {}) {
      const { bodyType, nativeProperties, loadInlines, stripQuoted, requireThreadId, resolveDraftId, ...options } =
        given;
      return send({
        method: "GET",
        path: MESSAGE,
        params: { messageId: id },
        query: { bodyType, nativeProperties, loadInlines, stripQuoted, requireThreadId, resolveDraftId },
        read: readMessage,
        options,
      });
    },
    send: (mail, { bodyType, returnIds, ...options } = {}) =>
      send({
        method: "POST",
        path: MESSAGES,
        query: { bodyType, returnIds },
        body: mail,
        read: readSentMessage,
        answerOptional: true,
        options,
      }),
    reply: (id, reply, { bodyType, returnIds, ...options } = {}) =>
      send({
        method: "POST",
        path: `${MESSAGE}/reply`,
        params: { messageId: id },
        query: { bodyType, returnIds },
        body: reply,
        read: readSentMessage,
        answerOptional: true,
        options,
      }),
    attachment: (id, attachmentId, options) =>
      send({
        method: "GET",
        path: `${MESSAGE}/attachments/{attachmentId}`,
        params: { messageId: id, attachmentId },
        read: readAttachment,
        options,
      }),
    trash: (id, options) =>
      send({
        method: "DELETE",
        path: MESSAGE,
        params: { messageId: id },
        read: readNothing,
        answerOptional: true,
        options,
      }),
    raw: (id, options) =>
      send({
        method: "GET",
        path: `${MESSAGE}/raw`,
        params: { messageId: id },
        accept: "text/plain",
        read: String,
        options,
      }),
    setStatus: (id, body, options) =>
      send({
        method: "POST",
        path: `${MESSAGE}/status`,
        params: { messageId: id },
        body,
        // The same status twice is the same status.
        repeatable: true,
        read: readNothing,
        answerOptional: true,
        options,
      }),
    sync: createDeltaSync(send, {
      path: "/v1/email/sync",
      toQuery: ({ daysWithin, bodyType }: EmailSyncOptions) => ({ daysWithin, bodyType }),
      read: readMessage,
    }),
  };
}
