import type { Clock } from "../../clock.ts";
import type { Gap, Gaps, SubscribedResource } from "../../inbox/port/gaps.ts";
import type { Logger } from "../../logger.ts";

/** Resources and gaps on their way to the inbox: held here until it stores again. */
export interface GapWriter {
  seen(resource: SubscribedResource): void;
  add(gaps: readonly Gap[]): void;
  /** Resolves when all that was given so far is durable, or could not be written: then the next call tries again. */
  flush(): Promise<void>;
}

/** Written at a time. */
const BATCH = 1_000;

export function createGapWriter(
  inbox: Pick<Gaps, "seen" | "add">,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): GapWriter {
  const resources: SubscribedResource[] = [];
  const gaps: Gap[] = [];
  let written = Promise.resolve();

  async function write(): Promise<void> {
    try {
      await inBatches(resources, (batch) => inbox.seen(batch, clock.now()));
      await inBatches(gaps, (batch) => inbox.add(batch));
    } catch (error) {
      log.warn({ err: error, code: "gaps-failed" }, "what may be missing could not be recorded: it is tried again");
    }
  }

  return {
    seen: (resource) => void resources.push(resource),
    add(found) {
      // Not all at once: an outage may end with a hundred thousand, more than a call takes.
      for (const gap of found) gaps.push(gap);
    },
    flush: () => (written = written.then(write)),
  };
}

/** What fails stays, and so does what comes meanwhile. */
async function inBatches<T>(all: T[], put: (batch: readonly T[]) => Promise<void>): Promise<void> {
  while (all.length > 0) {
    const batch = all.slice(0, BATCH);
    await put(batch);
    all.splice(0, batch.length);
  }
}
