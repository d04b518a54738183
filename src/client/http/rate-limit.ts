import PQueue from "p-queue";

const INTERVAL_MS = 1_000;
/** Beyond this many accounts those that have rested for an interval are forgotten. */
const MAX_RESTING = 1_000;

interface Limit {
  readonly queue: PQueue;
  usedAt: number;
}

/** Of this process, by account and rate: two clients of one account share one. */
const limits = new Map<string, Limit>();

/**
 * Runs a task when the account's rate allows it.
 *
 * @param account the base URL and the token
 * @param perSecond tasks that start in any second; infinite for no limit
 */
export function limited<T>(
  account: string,
  { perSecond, signal }: { readonly perSecond: number; readonly signal: AbortSignal | undefined },
  task: () => Promise<T>,
): Promise<T> {
  if (perSecond === Infinity || KEEPS_REQUESTS_APART) return task();
  const key = `${perSecond} ${account}`;
  const now = Date.now();
  let limit = limits.get(key);
  if (limit === undefined) {
    if (limits.size >= MAX_RESTING) forgetResting(now);
    limit = { queue: new PQueue({ intervalCap: perSecond, interval: INTERVAL_MS, strict: true }), usedAt: now };
    limits.set(key, limit);
  }
  limit.usedAt = now;
  return limit.queue.add(task, { signal });
}

/** On Cloudflare Workers what one request started cannot wake another one, so that a shared queue would never go on. */
const KEEPS_REQUESTS_APART =
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent === "Cloudflare-Workers";

function forgetResting(now: number): void {
  for (const [key, { queue, usedAt }] of limits)
    if (queue.size + queue.pending === 0 && now - usedAt > INTERVAL_MS) limits.delete(key);
}
