import type { Id } from "../../protocol/event-types.ts";
import { idField } from "../../protocol/read-fields.ts";
import { number, optionalId, recordReader, text, type Open, type Reader } from "./reader.ts";

interface TrackingFields {
  /** As tracking events have it. */
  readonly id: Id;
  readonly messageId?: string;
  readonly threadId?: string;
  readonly context?: string;
  readonly openCount?: number;
}

/** A message that was sent with tracking. Fields that are not listed here are kept, such as `lastActivityTime` and `hasBounced`. */
export interface TrackedMessage extends TrackingFields {
  readonly [field: string]: unknown;
}

export const readTrackedMessage: Reader<TrackedMessage> = recordReader<TrackingFields>({
  id: idField,
  messageId: text,
  threadId: text,
  context: text,
  openCount: number,
});

interface ActivityFields {
  readonly id: Id;
  readonly createdAt?: string;
  readonly eventType?: Open<"open" | "click" | "initial" | "reply" | "replyBounce">;
  readonly trackingId?: number;
}

/** What happened to a tracked message. Fields that are not listed here are kept: they are those of a notification. @see protocol 6.2 */
export interface TrackingActivity extends ActivityFields {
  readonly [field: string]: unknown;
}

export const readTrackingActivity: Reader<TrackingActivity> = recordReader<ActivityFields>({
  id: idField,
  createdAt: text,
  eventType: text,
  trackingId: optionalId,
});
