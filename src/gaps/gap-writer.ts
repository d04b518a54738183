import type { Gap, Gaps, SubscribedResource } from "../inbox/port/gaps.ts";
import type { GapWatchOptions } from "./gap-watch.ts";

/** Resources and gaps on their way to the inbox: held here until it stores again. */
export interface GapWriter {
  seen(resource: SubscribedResource): void;
  add(gaps: readonly Gap[]): void;
  /** Resolves when all that was given so far is durable, or could not be written: then the next call tries again. */
  flush(): Promise<void>;
}

/** Written at a time. */
const BATCH = 1_000;
/** Where so many of a batch fail, one by one, and none was written, it is the storage that fails. */
const MOST_AT_FIRST = 3;
/** So often one fails while others are written, before it is given up. */
const FAIR_TRIES = 5;
/** Time from one of these tries to the next at least: what passes by itself takes seconds or minutes. */
const TRY_AGAIN_MS = 60_000;

/** One that failed while others were written. */
interface Refused {
  readonly at: number;
  readonly tryAgain: () => void;
}

export function createGapWriter(
  inbox: Pick<Gaps, "seen" | "add">,
  { clock, log, found }: Pick<GapWatchOptions, "clock" | "log" | "found">,
): GapWriter {
  const resources: SubscribedResource[] = [];
  const gaps: Gap[] = [];
  const fairTries = new WeakMap<SubscribedResource, number>();
  let refused: Refused[] = [];
  let written = Promise.resolve();

  async function write(): Promise<void> {
    const before = refused;
    refused = [];
    for (const one of before) {
      const isDue = Math.abs(clock.now() - one.at) >= TRY_AGAIN_MS; // the wall clock may go back
      if (isDue) one.tryAgain();
      else refused.push(one);
    }
    await writeAll(resources, (batch) => inbox.seen(batch, clock.now()));
    await writeAll(gaps, (batch) => inbox.add(batch));
  }

  /** What fails stays, and so does what comes meanwhile. */
  async function writeAll<T extends SubscribedResource>(
    all: T[],
    put: (batch: readonly T[]) => Promise<void>,
  ): Promise<void> {
    while (all.length > 0) {
      const batch = all.slice(0, BATCH);
      try {
        await put(batch);
        all.splice(0, batch.length);
      } catch (error) {
        const isWritten = batch.length > 1 && (await writeSingly(all, batch.length, put));
        if (isWritten) continue;
        log.warn({ err: error, code: "gaps-failed" }, "what may be missing could not be recorded: it is tried again");
        return;
      }
    }
  }

  /** One that fails beside others that are written waits, so that it holds up none. @returns whether one was written */
  async function writeSingly<T extends SubscribedResource>(
    all: T[],
    count: number,
    put: (batch: readonly T[]) => Promise<void>,
  ): Promise<boolean> {
    const failed: { readonly one: T; readonly error: unknown }[] = [];
    let done = 0;
    for (const one of all.slice(0, count)) {
      try {
        await put([one]);
        done += 1;
      } catch (error) {
        failed.push({ one, error });
        if (done === 0 && failed.length >= MOST_AT_FIRST) break;
      }
    }
    const tried = all.splice(0, done + failed.length);
    if (done === 0) all.push(...tried); // behind the others: one of those may be written
    else for (const { one, error } of failed) refuse(one, error, () => all.push(one));
    return done > 0;
  }

  /** One that fails beside others again and again would fail for ever. */
  function refuse(one: SubscribedResource, err: unknown, tryAgain: () => void): void {
    const tries = (fairTries.get(one) ?? 0) + 1;
    const { subscription, accountId, family } = one;
    const facts = { err, subscription, accountId, family };
    if (tries >= FAIR_TRIES) {
      log.error(
        { ...facts, code: "gap-lost" },
        "the inbox refuses to record what may be missing of one resource, and takes others: it is not recorded",
      );
      return;
    }
    fairTries.set(one, tries);
    refused.push({ at: clock.now(), tryAgain });
    log.warn(
      { ...facts, code: "gaps-failed" },
      "what may be missing of one resource could not be recorded: it is tried again",
    );
  }

  return {
    seen: (resource) => void resources.push(resource),
    add(added) {
      // Not all at once: an outage may end with a hundred thousand, more than a call takes.
      for (const gap of added) gaps.push(gap);
      // The end of an error is no further gap.
      found(added.filter(({ cause, until }) => cause !== "errored" || until === undefined).length);
    },
    flush: () => (written = written.then(write)),
  };
}
