import { UsageError } from "../errors.ts";
import { createHttpTransport } from "./deliveries/transport.ts";
import { toNotificationUrl } from "./subscriptions/notification-url.ts";
import { signRequest } from "./wire/sign-request.ts";

/** How {@link runLoad} loads a receiver. */
export interface LoadOptions {
  /** The receiver's URL. */
  readonly url: string;
  /** The receiver's signing secret. */
  readonly secret: string;
  /** Deliveries a second, each about another message. */
  readonly rate: number;
  readonly seconds: number;
  /** Ends it early; the report is about what was sent. */
  readonly signal?: AbortSignal | undefined;
  /** Also public addresses. @default false */
  readonly allowRemote?: boolean | undefined;
}

/** What a receiver did under load. */
export interface LoadReport {
  readonly sent: number;
  /** Answered 200. */
  readonly accepted: number;
  /** Seconds from the first delivery to the last answer. */
  readonly seconds: number;
  readonly acceptedPerSecond: number;
  /** From the time at which a delivery was due until its answer, milliseconds: a slow receiver cannot hide behind a sender that waits for it. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How many answers of each status. */
  readonly statuses: Readonly<Record<number, number>>;
  /** How many were not answered, by cause. */
  readonly failures: Readonly<Record<string, number>>;
}

const ACCOUNT = 2001;
const SUBSCRIPTION = 1001;
/** More of them unanswered, and a delivery waits for its turn: its latency tells. */
const MAX_IN_FLIGHT = 1_024;
const TICK_MS = 2;
/** After the last delivery; then what is open counts as unanswered. */
const ANSWER_LIMIT_MS = 30_000;

/**
 * Sends signed deliveries at a steady rate, whatever the receiver does, and measures. Nothing is sent twice.
 *
 * @throws UsageError `option-invalid`, `subscription-refused` for a URL that is none, or leads to a public address
 * @example
 * const { acceptedPerSecond, p99Ms } = await runLoad({ url, secret, rate: 1_000, seconds: 10 });
 */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { url, secret, rate, seconds, signal, allowRemote = false } = options;
  const total = Math.round(rate * seconds);
  if (!(rate > 0 && seconds > 0 && total >= 1 && total <= 1e8))
    throw new UsageError(
      "option-invalid",
      `runLoad got ${rate} a second for ${seconds} s, expected at least one delivery.`,
    );
  toNotificationUrl(url, allowRemote);
  const transport = createHttpTransport({ allowRemote });
  const latencies: number[] = [];
  const statuses: Record<number, number> = {};
  const failures: Record<string, number> = {};
  const begun = performance.now();
  let sent = 0;
  let inFlight = 0;
  let limit: NodeJS.Timeout | undefined;
  let isOver: (() => void) | undefined;

  async function send(nth: number): Promise<void> {
    const dueAt = begun + (nth * 1_000) / rate;
    const body = Buffer.from(
      `{"subscription":${SUBSCRIPTION},"resource":"/email/messages","accountId":${ACCOUNT},"payloads":[{"id":"m-${nth}","changeType":"created"}]}`,
    );
    const headers = {
      "Content-Type": "application/json; charset=utf-8",
      ...signRequest(body, { secret, at: new Date() }),
    };
    try {
      const { status } = await transport.send({ url, headers, body });
      statuses[status] = (statuses[status] ?? 0) + 1;
      latencies.push(performance.now() - dueAt);
    } catch (error) {
      const cause = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      failures[cause] = (failures[cause] ?? 0) + 1;
    }
    inFlight -= 1;
    if (inFlight === 0) isOver?.();
  }

  function sendDue(): boolean {
    const due = Math.min(Math.floor(((performance.now() - begun) * rate) / 1_000) + 1, total);
    while (sent < due && inFlight < MAX_IN_FLIGHT) {
      inFlight += 1;
      void send(sent);
      sent += 1;
    }
    return sent < total && signal?.aborted !== true;
  }

  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (sendDue()) return;
      clearInterval(timer);
      isOver = resolve;
      if (inFlight === 0) resolve();
      else limit = setTimeout(() => transport.close(), ANSWER_LIMIT_MS);
    }, TICK_MS);
  });
  clearTimeout(limit);
  transport.close();
  const tookSeconds = (performance.now() - begun) / 1_000;
  latencies.sort((a, b) => a - b);
  const accepted = statuses[200] ?? 0;
  return {
    sent,
    accepted,
    seconds: tookSeconds,
    acceptedPerSecond: accepted / tookSeconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    statuses,
    failures,
  };
}

/** By the nearest rank. */
function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? Number.NaN;
}
