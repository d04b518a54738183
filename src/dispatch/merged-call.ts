import type { Claim, ClaimedJob } from "../inbox/port/claims.ts";
import type { SingleEvent } from "../protocol/events.ts";
import type { CallFacts } from "./context.ts";
import type { Handlers, Registration } from "./handlers.ts";
import { mergeKeyOf } from "./lane-key.ts";
import { eventAt } from "./decode-event.ts";
import { isLastAttempt } from "./retry-policy.ts";

/** One call of a handler: the jobs of a claim that go together, oldest first. */
export interface MergedCall {
  readonly claim: Claim;
  readonly jobs: readonly ClaimedJob[];
  readonly events: readonly [SingleEvent, ...SingleEvent[]];
  readonly registration: Registration | undefined;
}

/** Those of a claim that go together today: handlers may have changed since its jobs were made. */
export function toMergedCall(claim: Claim, handlers: Handlers): MergedCall {
  const { consumer, delivery } = claim.jobs[0];
  const events = claim.jobs.map(eventAt) as [SingleEvent, ...SingleEvent[]]; // as many as jobs: at least one
  const registration = handlers.find(consumer, events[0].type);
  const whole = { claim, jobs: claim.jobs, events, registration };
  if (events.length === 1) return whole;
  const mergeKey = registration && mergeKeyOf(events[0], registration, delivery.source);
  const other = events.findIndex((event, index) => {
    if (index === 0) return false;
    if (handlers.find(consumer, event.type) !== registration) return true;
    if (registration === undefined) return false;
    return mergeKey === undefined || mergeKeyOf(event, registration, delivery.source) !== mergeKey;
  });
  if (other === -1) return whole;
  return {
    ...whole,
    jobs: claim.jobs.slice(0, other),
    events: events.slice(0, other) as [SingleEvent, ...SingleEvent[]],
  };
}

/** The back-off is the oldest job's, what names the call is the newest's. */
export function toFacts(
  { jobs, events }: MergedCall,
  { limits, consumer }: Registration,
  { signal, now }: { readonly signal: AbortSignal; readonly now: number },
): CallFacts {
  const [oldest, newest] = [jobs[0], jobs.at(-1)] as [ClaimedJob, ClaimedJob];
  return {
    signal,
    attempt: oldest.attempt,
    lastAttempt: jobs.every((job) => isLastAttempt(job, limits, now)),
    merged: jobs.length,
    event: events.at(-1) ?? events[0],
    entry: newest.entry,
    jobId: newest.id,
    deliveryId: newest.deliveryId,
    consumer,
    replayOf: newest.replayOf,
    delivery: newest.delivery,
  };
}
