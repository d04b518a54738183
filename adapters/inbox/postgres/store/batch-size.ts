import type { NewDelivery } from "../../../../src/adapter.ts";
import { jobsIn, MOST_JOBS } from "./encode-batch.ts";

/** In one commit. A receiver gives at most 500 at once (`src/inbox/batcher.ts`): more are of several calls. */
const MOST = { deliveries: 1_000, bytes: 4 * 1024 * 1024 };

/** How many of those that wait are stored in the next commit, from the oldest on: one at least. */
export function sizeOfBatch(waiting: readonly { readonly given: NewDelivery }[]): number {
  let [count, bytes, ids] = [0, 0, 0];
  for (const { given } of waiting) {
    bytes += given.delivery.body.byteLength;
    ids += 1 + Math.min(MOST_JOBS, jobsIn(given.events ?? []));
    if (count > 0 && (count === MOST.deliveries || bytes > MOST.bytes || ids > MOST_JOBS)) break;
    count += 1;
  }
  return count;
}
