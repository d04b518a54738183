import type { Clock } from "../../clock.ts";
import type { Random } from "../random.ts";
import type { MailboxRecord } from "./mailbox.ts";

/** How a message is tracked. @see protocol 6.2: these names are shown, their shapes are not */
export interface TrackingOptions {
  readonly opens?: boolean | undefined;
  readonly threadReplies?: boolean | undefined;
  /** Seconds after sending in which the sender's own programs may open it. @default 5 */
  readonly trackOpensAfterSendDelay?: number | undefined;
  readonly context?: string | undefined;
}

/** What tracking knows of a message that was sent. */
interface SentIds {
  readonly id?: string | undefined;
  readonly threadId?: unknown;
  readonly internetMessageId?: unknown;
}

/** An event as it is announced, and as the API shows it. */
export interface TrackingEvent extends Opener {
  readonly id: number;
  readonly createdAt: string;
  readonly eventType: "initial" | "open" | "reply" | "replyBounce";
  readonly threadId?: unknown;
  readonly [field: string]: unknown;
}

/** A message that was sent with tracking, or a draft that is to be. */
export interface TrackedMessage {
  readonly trackingId: number;
  readonly trackingCode: string;
  options: TrackingOptions;
  readonly draftId?: string | undefined;
  /** Absent until a draft has been sent. */
  sent?: SentIds & { readonly atMs: number };
  /** True: whoever opens it, nothing happens. */
  isIgnored: boolean;
  events: readonly TrackingEvent[];
}

/** Who opened a message. */
export interface Opener {
  readonly location?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly remoteAddr?: string | undefined;
}

/** Tracked messages of one account. */
export interface Tracking {
  /** In the order in which they were sent or prepared. */
  readonly all: readonly TrackedMessage[];
  start(message: MailboxRecord, options: TrackingOptions): TrackedMessage;
  /** Makes a tracking code for a draft that has not been sent. */
  prepare(draftId: string, options: TrackingOptions): TrackedMessage;
  /** The draft was sent: its tracking begins. */
  begin(tracked: TrackedMessage, sent: SentIds): void;
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

  function tell(tracked: TrackedMessage, fields: Pick<TrackingEvent, "eventType"> & Partial<TrackingEvent>): void {
    const { trackingId, trackingCode, options, sent } = tracked;
    const event = {
      id: (events += 1),
      createdAt: new Date(clock.now()).toISOString(),
      trackingId,
      trackingCode,
      ...(options.context !== undefined && { context: options.context }),
      trackingThreadId: sent?.threadId,
      trackingMessageId: sent?.id,
      trackingInternetMessageId: sent?.internetMessageId,
      ...fields,
    };
    tracked.events = [...tracked.events, event];
    announce(event);
  }

  function add(options: TrackingOptions, draftId?: string): TrackedMessage {
    const trackingId = FIRST_TRACKING + all.length;
    const tracked = { trackingId, trackingCode: random.uuid(), options, draftId, isIgnored: false, events: [] };
    all.push(tracked);
    return tracked;
  }

  function begin(tracked: TrackedMessage, sent: SentIds): void {
    tracked.sent = { ...sent, atMs: clock.now() };
    tell(tracked, { eventType: "initial", ...idsOf(sent) });
  }

  function opened(tracked: TrackedMessage, by: Opener = {}): void {
    if (tracked.isIgnored) return;
    const { location = "Paris, France", userAgent = "Mozilla/5.0", remoteAddr = "192.0.2.7" } = by;
    const openNumber = openingsOf(tracked).length + 1;
    tell(tracked, { eventType: "open", location, userAgent, remoteAddr, openNumber });
  }

  return {
    all,
    start(message, options) {
      const tracked = add(options);
      begin(tracked, message);
      return tracked;
    },
    prepare: (draftId, options) => add(options, draftId),
    begin,
    find: (wanted) => all.find(({ sent, trackingCode }) => sent?.id === wanted || trackingCode === wanted),
    opened,
    pictureLoaded(tracked, by) {
      const { trackOpensAfterSendDelay = DEFAULT_DELAY_S } = tracked.options;
      // Who writes a draft sees its picture, too.
      if (clock.now() >= (tracked.sent?.atMs ?? Infinity) + trackOpensAfterSendDelay * 1_000) opened(tracked, by);
    },
    received(message) {
      const tracked = all.find(
        ({ sent, options }) => options.threadReplies === true && sent !== undefined && answers(message, sent),
      );
      if (tracked !== undefined)
        tell(tracked, { eventType: isBounce(message) ? "replyBounce" : "reply", ...idsOf(message) });
    },
  };
}

/** The events of a message that somebody has opened it. */
export function openingsOf({ events }: TrackedMessage): readonly TrackingEvent[] {
  return events.filter(({ eventType }) => eventType === "open");
}

function idsOf({ id, threadId, internetMessageId }: SentIds): object {
  return { threadId, messageId: id, internetMessageId };
}

function answers({ inReplyTo, threadId }: MailboxRecord, sent: SentIds): boolean {
  return (
    (inReplyTo !== undefined && inReplyTo === sent.internetMessageId) ||
    (threadId !== undefined && threadId === sent.threadId)
  );
}

/** By its sender, as RFC 5321 (section 4.5.1) and common use name it. */
function isBounce({ from }: MailboxRecord): boolean {
  return /^(?:mailer-daemon|postmaster)@/i.test((from as { readonly address?: string } | undefined)?.address ?? "");
}
