import type { Send } from "../http/transport.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import { readFollowupStatus, readMessage, type FollowupStatus, type Message } from "../records/message.ts";
import type { BodyTypeOptions } from "./messages.ts";

/** Conversations. @see protocol 4.1, "Email messages and conversations" */
export interface Conversations {
  /** `GET /v1/email/conversations/{threadId}`: its messages. */
  get(threadId: string, options?: BodyTypeOptions): Paged<Message>;
  /** `GET /v1/email/conversations/{threadId}/followup` */
  followup(threadId: string, options?: FollowupOptions): Promise<FollowupStatus>;
}

/** How the status is found. */
export interface FollowupOptions extends BodyTypeOptions {
  /** The mailbox is not looked at. @default false */
  skipMailboxCheck?: boolean | undefined;
}

const readPage = pageReader(readMessage);
const CONVERSATION = "/v1/email/conversations/{threadId}";

export function createConversations(send: Send): Conversations {
  return {
    get: (threadId, { bodyType, ...options } = {}) =>
      createPaged((pageToken) =>
        send({
          method: "GET",
          path: CONVERSATION,
          params: { threadId },
          query: { bodyType, pageToken },
          read: readPage,
          options,
        }),
      ),
    followup: (threadId, { bodyType, skipMailboxCheck, ...options } = {}) =>
      send({
        method: "GET",
        path: `${CONVERSATION}/followup`,
        params: { threadId },
        query: { bodyType, skipMailboxCheck },
        read: readFollowupStatus,
        options,
      }),
  };
}
