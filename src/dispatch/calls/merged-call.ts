import type { Claim, ClaimedJob } from "../../inbox/port/claims.ts";
import type { SingleEvent } from "../../protocol/event-types.ts";
import type { Handlers, Registration } from "../handlers.ts";
import { mergeKeyOf } from "../merge-key.ts";
import { isLastAttempt } from "../retries/retry-policy.ts";
import type { CallFacts } from "./context.ts";
import { eventAt } from "./job-view.ts";

/** One call of a handler: the jobs of a claim that go together, oldest first. */
export interface MergedCall {
  readonly claim: Claim;
  readonly jobs: readonly ClaimedJob[];
  readonly events: readonly [SingleEvent, ...SingleEvent[]];
  readonly registration: Registration | undefined;
}

/** Jobs of a claim that merge today: handlers, and how keys are written, may have changed since the jobs were made. */
export function toMergedCall(claim: Claim, handlers: Handlers): MergedCall {
  const { consumer, delivery } = claim.jobs[0];
  const events = claim.jobs.map(eventAt) as [SingleEvent, ...SingleEvent[]]; // as many as jobs: at least one
  const registration = handlers.find(consumer, events[0].type);
  const whole = { claim, jobs: claim.jobs, events, registration };
  if (events.length === 1) return whole;
  const mergeKey = registration && mergeKeyOf(events[0], registration, delivery.source);
  const other = claim.jobs.findIndex((job, index) => {
    const event = events[index];
    if (index === 0 || event === undefined) return false;
    if (job.consumer !== consumer || handlers.find(consumer, event.type) !== registration) return true;
    if (registration === undefined) return false;
    return mergeKey === undefined || mergeKeyOf(event, registration, job.delivery.source) !== mergeKey;
  });
  if (other === -1) return whole;
  return {
    ...whole,
    jobs: claim.jobs.slice(0, other),
    events: events.slice(0, other) as [SingleEvent, ...SingleEvent[]],
  };
}

/** `attempt` is the oldest job's; the ids and times are the newest's. */
export function toFacts(
  { jobs, events }: MergedCall,
  { limits, consumer }: Registration,
  { signal, ...times }: { readonly signal: AbortSignal; readonly now: number; readonly retryTime: () => number },
): CallFacts {
  const [oldest, newest] = [jobs[0], jobs.at(-1)] as [ClaimedJob, ClaimedJob];
  return {
    signal,
    attempt: oldest.attempt,
    lastAttempt: jobs.every((job) => isLastAttempt(job, limits, times)),
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
