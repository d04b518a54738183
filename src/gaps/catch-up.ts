import type { Clock, Timer } from "../clock.ts";
import type { Gap, Gaps } from "../inbox/port/gaps.ts";
import type { Logger } from "../logger.ts";

/** Ends gaps, one after the other, with a call of the `.changes` handlers. */
export interface CatchUp {
  /** There may be some, and this process may be the one that works. */
  wake(): void;
  /** Gaps that could not be signalled or removed for some minutes, or whether they cannot even be read. */
  failing(): { readonly count: number; readonly isUnread: boolean };
  stop(): void;
}

export interface CatchUpOptions {
  readonly gaps: Pick<Gaps, "find" | "remove" | "isMine">;
  /** At most so many a second: all resources at once would be a storm of calls to the service. */
  readonly perSecond: number;
  /** This process works. */
  readonly mayRun: () => boolean;
  /** Families with a handler that fetches what changed. */
  readonly families: () => readonly string[];
  /** Stores the signal for the handlers. Resolves when durable. */
  readonly signal: (gap: Gap) => Promise<unknown>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Read at a time. */
const PAGE = 100;
/** What fails for so long is a problem, milliseconds: an inbox that is opened again takes less. */
const FAILING_MS = 5 * 60_000;

export function createCatchUp(options: CatchUpOptions): CatchUp {
  const { gaps, perSecond, mayRun, families, signal, clock, log } = options;
  let running = false;
  let again = false;
  /** Signalled, and not removed yet, by resource: the removal alone is tried again. */
  const signalled = new Map<string, Gap>();
  /** Since when they fail, by resource. */
  let failingSince = new Map<string, number>();
  let unreadSince: number | undefined;
  let pause: { readonly timer: Timer; readonly end: () => void } | undefined;

  /** One signal brings all that subscriptions of the same resource may have missed. What fails is tried at the next wake: others go on. */
  async function endOne(gap: Gap): Promise<void> {
    const { accountId, family, cause, from, until = from } = gap;
    const facts = { accountId, family, cause, from: new Date(from), until: new Date(until) };
    const key = keyOf(gap);
    try {
      if (!isWithin(gap, signalled.get(key))) await signal(gap);
      signalled.set(key, gap);
      await gaps.remove([gap]);
      signalled.delete(key);
      failingSince.delete(key);
      log.info({ code: "gap-signalled", ...facts }, "something may have been missed: its handler fetches what changed");
    } catch (error) {
      if (!failingSince.has(key)) failingSince.set(key, clock.now());
      failed(error, facts);
    }
    if (!mayRun()) return;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(resolve, 1_000 / perSecond);
      timer.unref?.();
      pause = { timer, end: resolve };
    });
  }

  function failed(error: unknown, facts: object = {}): void {
    const what = { err: error, code: "gaps-failed", ...facts };
    if (mayRun()) log.warn(what, "what may have been missed cannot be read or signalled: it is tried again");
  }

  /** The wall clock may go back. */
  function isLong(since: number): boolean {
    return mayRun() && Math.abs(clock.now() - since) >= FAILING_MS;
  }

  async function run(): Promise<void> {
    const handled = families();
    /** The others were ended in another way, such as by a person. */
    const there = new Map<string, number>();
    let after: string | undefined;
    do {
      if (handled.length === 0 || !mayRun() || !gaps.isMine()) return forgetFailures();
      const page = await gaps.find({ families: handled, hasEnded: true, after, limit: PAGE });
      const byResource = Map.groupBy(page.gaps, keyOf);
      for (const same of byResource.values())
        if (mayRun()) await endOne(same.reduce((last, one) => ((one.until ?? 0) > (last.until ?? 0) ? one : last)));
      for (const key of byResource.keys()) {
        const since = failingSince.get(key);
        if (since !== undefined) there.set(key, since);
      }
      after = page.next;
    } while (after !== undefined);
    failingSince = there;
    unreadSince = undefined;
  }

  function forgetFailures(): void {
    failingSince.clear();
    unreadSince = undefined;
  }

  async function runAgain(): Promise<void> {
    running = true;
    try {
      while (again) {
        again = false;
        await run();
      }
    } catch (error) {
      unreadSince ??= clock.now();
      failed(error);
    } finally {
      running = false;
    }
  }

  return {
    wake() {
      again = mayRun();
      if (again && !running) void runAgain();
    },
    failing() {
      return {
        count: [...failingSince.values()].filter(isLong).length,
        isUnread: unreadSince !== undefined && isLong(unreadSince),
      };
    },
    stop() {
      pause?.timer.clear();
      pause?.end();
    },
  };
}

function keyOf({ source, accountId, resource }: Gap): string {
  return JSON.stringify([source, accountId, resource]);
}

/** One that reaches further than what was signalled is signalled again. */
function isWithin({ from, until = Infinity }: Gap, other: Gap | undefined): boolean {
  return other !== undefined && from >= other.from && until <= (other.until ?? Infinity);
}
