import type { Clock } from "../../clock.ts";
import type { Random } from "../random.ts";
import type { MailboxRecord } from "./mailbox.ts";

/** How a message is tracked. @see protocol 6.2: these names are shown, their shapes are not */
interface TrackingOptions {
  readonly opens?: boolean | undefined;
  readonly threadReplies?: boolean | undefined;
  /** Seconds after sending in which the sender's own programs may open it. @default 5 */
  readonly trackOpensAfterSendDelay?: number | undefined;
  readonly context?: string | undefined;
}

/** A message that was sent with tracking. */
interface TrackedMessage {
  readonly message: MailboxRecord;
  readonly trackingId: number;
  readonly trackingCode: string;
  readonly options: TrackingOptions;
  openNumber: number;
}

/** Who opened a message. */
export interface Opener {
  readonly location?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly remoteAddr?: string | undefined;
}

/** Tracked messages of one account. */
export interface Tracking {
  start(message: MailboxRecord, options: TrackingOptions): TrackedMessage;
  /** By its message's id, or its tracking code. */
  find(idOrCode: string): TrackedMessage | undefined;
  opened(tracked: TrackedMessage, by?: Opener): void;
  /** The picture in the message was loaded: an opening, unless it came too early. */
  pictureLoaded(tracked: TrackedMessage, by: Opener): void;
  /** A message has come: perhaps a reply. */
  received(message: MailboxRecord): void;
}

/** What tracking needs. */
export interface TrackingDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Tells those who subscribed to `/email/tracking`. */
  readonly announce: (event: object) => void;
}

const DEFAULT_DELAY_S = 5;
const FIRST_TRACKING = 3001;

/** @see protocol 6.2, email tracking notification */
export function createTracking({ clock, random, announce }: TrackingDeps): Tracking {
  const all: TrackedMessage[] = [];
  let events = 0;

  function tell({ message, trackingId, trackingCode, options }: TrackedMessage, event: object): void {
    announce({
      id: (events += 1),
      createdAt: new Date(clock.now()).toISOString(),
      trackingId,
      trackingCode,
      ...(options.context !== undefined && { context: options.context }),
      trackingThreadId: message["threadId"],
      trackingMessageId: message.id,
      trackingInternetMessageId: message["internetMessageId"],
      ...event,
    });
  }

  function opened(tracked: TrackedMessage, by: Opener = {}): void {
    tracked.openNumber += 1;
    const { location = "Paris, France", userAgent = "Mozilla/5.0", remoteAddr = "192.0.2.7" } = by;
    tell(tracked, { eventType: "open", location, userAgent, remoteAddr, openNumber: tracked.openNumber });
  }

  return {
    start(message, options) {
      const trackingId = FIRST_TRACKING + all.length;
      const tracked = { message, trackingId, trackingCode: random.uuid(), options, openNumber: 0 };
      all.push(tracked);
      tell(tracked, { eventType: "initial", ...idsOf(message) });
      return tracked;
    },
    find: (wanted) => all.find(({ message, trackingCode }) => message.id === wanted || trackingCode === wanted),
    opened,
    pictureLoaded(tracked, by) {
      const { trackOpensAfterSendDelay = DEFAULT_DELAY_S } = tracked.options;
      if (clock.now() >= Date.parse(tracked.message.createdTime) + trackOpensAfterSendDelay * 1_000)
        opened(tracked, by);
    },
    received(message) {
      const tracked = all.find(
        ({ message: sent, options }) => options.threadReplies === true && answers(message, sent),
      );
      if (tracked !== undefined)
        tell(tracked, { eventType: isBounce(message) ? "replyBounce" : "reply", ...idsOf(message) });
    },
  };
}

function idsOf({ id, threadId, internetMessageId }: MailboxRecord): object {
  return { threadId, messageId: id, internetMessageId };
}

function answers(message: MailboxRecord, sent: MailboxRecord): boolean {
  return message["inReplyTo"] === sent["internetMessageId"] || message["threadId"] === sent["threadId"];
}

/** By its sender, as RFC 5321 (section 4.5.1) and common use name it. */
function isBounce({ from }: MailboxRecord): boolean {
  return /^(?:mailer-daemon|postmaster)@/i.test((from as { readonly address?: string } | undefined)?.address ?? "");
}
