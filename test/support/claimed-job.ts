import type { ClaimedJob } from "../../src/inbox/port/claims.ts";
import { makeDelivery } from "./make-delivery.ts";

/** A claimed job: by default the first attempt of the first entry. */
export function claimedJob(fields: Partial<ClaimedJob> = {}): ClaimedJob {
  return {
    id: "1",
    deliveryId: "9",
    entry: 0,
    consumer: "default",
    lane: undefined,
    mergeKey: undefined,
    attempt: 1,
    firstAttemptAt: 0,
    deaths: 0,
    replayOf: undefined,
    delivery: makeDelivery(),
    event: undefined,
    ...fields,
  };
}
