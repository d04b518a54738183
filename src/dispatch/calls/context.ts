import type { Delivery, StoredDelivery } from "../../inbox/port/delivery.ts";
import { toStored } from "../../inbox/port/delivery.ts";
import type { Logger } from "../../logger.ts";
import { dedupeKeyOf } from "../../protocol/dedupe-key.ts";
import type { SingleEvent } from "../../protocol/event-types.ts";

/** For the user's own middleware: extend it by declaration merging. */
export interface ContextState {}

/** What a handler gets beside its event. */
export interface Context {
  /** Aborts when the attempt's time is over, when the receiver closes, and when the job was taken away. */
  readonly signal: AbortSignal;
  /** From 1. One higher after a failed attempt, and after a process that died during one; not after a `RetryLater`. */
  readonly attempt: number;
  /** If this one fails, the job is dead. */
  readonly lastAttempt: boolean;
  /** How many jobs this call settles; 1 unless changes were merged. */
  readonly merged: number;
  /** When the delivery was received. */
  readonly receivedAt: Date;
  /** The signed timestamp. */
  readonly sentAt: Date;
  /** As in `receiver.jobs` and on the command line. */
  readonly jobId: string;
  /** The job that this one was replayed from. */
  readonly replayOf?: string;
  /** As the mount set it. */
  readonly source?: string;
  /**
   * Stable over attempts and over a redelivery with the same timestamp. Of the newest merged job: the same set has the same key, a
   * grown set a new one. A replay has a new one.
   */
  readonly idempotencyKey: string;
  /** The stored request, with its bytes. */
  delivery(): Promise<StoredDelivery>;
  /** The receiver's logger; each line carries the job's id. */
  readonly log: Logger;
  /** For middleware: values for the next ones and the handler. */
  readonly state: ContextState;
  /**
   * Writes the tombstone at once; it stays even if the handler throws afterwards.
   * @param reason of which 1,000 characters are stored
   * @throws UsageError `option-invalid` for a reason that is no text
   * @throws HooklineError `unsubscribe-limit-reached` when too many subscriptions were unsubscribed within the hour
   * @throws UsageError `no-tombstones` on an inbox without them, and in `receiver.handle` on a memory inbox
   */
  unsubscribe(reason: string): Promise<void>;
}

/** A call, as far as its context shows it: ids and times are the newest job's. */
export interface CallFacts extends Pick<Context, "signal" | "attempt" | "lastAttempt" | "merged" | "jobId"> {
  readonly event: SingleEvent;
  readonly entry: number;
  readonly deliveryId: string;
  readonly consumer: string;
  readonly replayOf: string | undefined;
  readonly delivery: Delivery;
}

/** What a context calls on the receiver. */
export interface ContextServices {
  readonly log: Logger;
  unsubscribe(event: SingleEvent, source: string | undefined, reason: string): Promise<void>;
}

/**
 * Plain values: getters made for each call cost more than what they would save.
 * @param logged in each line of its log, beside the job's id
 */
export function createContext(facts: CallFacts, services: ContextServices, logged?: object): Context {
  const { delivery, event, jobId } = facts;
  const ctx: { -readonly [Name in keyof Context]: Context[Name] } = {
    signal: facts.signal,
    attempt: facts.attempt,
    lastAttempt: facts.lastAttempt,
    merged: facts.merged,
    receivedAt: new Date(delivery.receivedAt),
    sentAt: new Date(delivery.sentAt),
    jobId,
    idempotencyKey: idempotencyKey(facts),
    delivery: async () => toStored(facts.deliveryId, delivery),
    log: withFacts(services.log, { jobId, ...logged }),
    state: {},
    unsubscribe: (reason) => services.unsubscribe(event, delivery.source, reason),
  };
  if (facts.replayOf !== undefined) ctx.replayOf = facts.replayOf;
  if (delivery.source !== undefined) ctx.source = delivery.source;
  return ctx;
}

/** The consumer is part of it: two consumers do different work for one event. */
export function idempotencyKey({
  consumer,
  event,
  delivery,
  entry,
  replayOf,
  jobId,
}: Pick<CallFacts, "consumer" | "event" | "delivery" | "entry" | "replayOf" | "jobId">): string {
  const natural = dedupeKeyOf(event);
  const ofSource = delivery.source === undefined ? natural : `${delivery.source}:${natural}`;
  const key = natural === undefined ? `${delivery.signature}:${entry}` : ofSource;
  // Else a consumer "crm:eu" had the keys of a consumer "crm" for a source "eu".
  const own = /[:%]/.test(consumer) ? consumer.replaceAll("%", "%25").replaceAll(":", "%3A") : consumer;
  return replayOf === undefined ? `${own}:${key}` : `${own}:${key}:replay:${jobId}`;
}

function withFacts(log: Logger, own: object): Logger {
  return {
    debug: (facts, message) => log.debug({ ...own, ...facts }, message),
    info: (facts, message) => log.info({ ...own, ...facts }, message),
    warn: (facts, message) => log.warn({ ...own, ...facts }, message),
    error: (facts, message) => log.error({ ...own, ...facts }, message),
  };
}
