import { eventIn } from "../../dispatch/job-view.ts";
import type { InboxJobs, StoredJob } from "../../inbox/port/jobs.ts";
import { parseDocument } from "../../protocol/envelope.ts";
import type { SingleEvent } from "../../protocol/events.ts";

/** Deliveries read at once: their bodies are in memory together. */
const AT_ONCE = 50;

/** The events of jobs, those of one delivery from one reading: it may have a thousand. Without those that are gone. */
export async function readEvents(
  inbox: Pick<InboxJobs, "get">,
  jobs: readonly StoredJob[],
): Promise<Map<StoredJob, SingleEvent>> {
  const events = new Map<StoredJob, SingleEvent>();
  const firsts = [...Map.groupBy(jobs, ({ deliveryId }) => deliveryId).values()];
  const missed: StoredJob[] = [];
  for (let read = 0; read < firsts.length; read += AT_ONCE) {
    await Promise.all(
      firsts.slice(read, read + AT_ONCE).map(async ([first, ...others]) => {
        const found = first && (await inbox.get(first.id));
        // The first is gone since it was found; the others may not be.
        if (found === undefined) return missed.push(...others);
        const document = parseDocument(Buffer.from(found.delivery.bodyBase64, "base64"));
        for (const job of [first, ...others]) if (job !== undefined) events.set(job, eventIn(document, job.entry));
        return undefined;
      }),
    );
  }
  if (missed.length > 0) for (const [job, event] of await readEvents(inbox, missed)) events.set(job, event);
  return events;
}
