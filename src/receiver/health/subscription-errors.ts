import { createErroredSubscriptions, noticeOf, toNotice } from "../../inbox/errored-subscriptions.ts";
import type { Delivery } from "../../inbox/port/delivery.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import type {
  ErroredSubscription,
  KnownSubscription,
  LifecycleNotice,
  NoticeOrigin,
} from "../../inbox/port/subscriptions.ts";
import type { Logger } from "../../logger.ts";
import type { SingleEvent } from "../../protocol/event-types.ts";

/** Subscriptions with a `lifecycle.error`: those that the inbox recorded, and those of events handled without an inbox. */
export interface SubscriptionErrors {
  /** Records an event that goes directly to its handlers: no inbox records it. */
  record(event: SingleEvent, delivery: Pick<Delivery, "source" | "sentAt">): void;
  /** Removes an unsubscribed one; without a source, of every source. */
  forget(subscription: number, source: string | undefined): void;
  /** Removes one of exactly this source, as far as the inbox can: without a source, where no other source has the same number. */
  forgetExactly(subscription: number, source: string | undefined): void;
  list(): readonly ErroredSubscription[];
  /** Records what was learnt without a notice. */
  learn(notice: LifecycleNotice, origin: NoticeOrigin): Promise<void>;
  /** Forgets one, in every source, whatever is recorded of it. */
  unlearn(subscription: number): Promise<void>;
  /** All that are recorded, those that work included. */
  known(): Promise<readonly KnownSubscription[]>;
}

/** @param inbox undefined where it has no working half */
export function createSubscriptionErrors(
  inbox: Pick<WorkingInbox, "subscriptions"> | undefined,
  log: Logger,
): SubscriptionErrors {
  const direct = createErroredSubscriptions();

  /** Never throws: a 422 and health() call it. */
  function recorded(): readonly ErroredSubscription[] {
    try {
      return inbox?.subscriptions.errored() ?? [];
    } catch (error) {
      failed(error);
      return [];
    }
  }

  function failed(error: unknown): void {
    log.warn({ err: error, code: "subscriptions-failed" }, "the inbox cannot list or update errored subscriptions");
  }

  function forget(subscription: number, source: string | undefined): void {
    direct.forget(subscription, source);
    const isRecorded = recorded().some(
      (one) => one.subscription === subscription && (source === undefined || one.source === source),
    );
    if (isRecorded) inbox?.subscriptions.forget(subscription, source).catch(failed);
  }

  const list = (): readonly ErroredSubscription[] => [...recorded(), ...direct.list()];

  return {
    record(event, { source, sentAt }) {
      const notice = noticeOf(event);
      if (notice !== undefined) direct.record(notice, { source, sentAt });
    },
    forget,
    forgetExactly(subscription, source) {
      const isOfOther = (one: ErroredSubscription): boolean =>
        one.subscription === subscription && one.source !== undefined;
      if (source !== undefined || !list().some(isOfOther)) forget(subscription, source);
    },
    list,
    async learn(notice, origin) {
      if (inbox === undefined) direct.record(toNotice(notice), origin);
      else await inbox.subscriptions.record(toNotice(notice), origin);
    },
    async unlearn(subscription) {
      direct.forget(subscription, undefined);
      await inbox?.subscriptions.forget(subscription, undefined);
    },
    known: async () => [...((await inbox?.subscriptions.known()) ?? []), ...direct.known()],
  };
}
