import { createReceiver, type Clock, type Receiver } from "hookline";
import { statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createSqliteInbox } from "../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { bodyOf, change, signedRequest, tracked, trackingBody } from "../support/make-delivery.ts";
import type { Point } from "./growth.ts";
import { usedHeapOfThreads } from "./thread-heaps.ts";

export interface SoakOptions {
  readonly file: string;
  readonly deliveries: number;
  /** The rate at which they are sent, whatever the receiver does. */
  readonly perSecond: number;
  /** Number of measurements. */
  readonly points: number;
}

const SECRET = "a signing secret";
/** With more in flight or waiting the receiver does not keep up: retention deletes handled jobs only. */
const MOST_BEHIND_SECONDS = 10;
const TICK_MS = 2;
/** A minute of the clock takes three seconds, and done jobs stay for nine. */
const TIMES = 20;
const KEEP_MS = 180_000;

/** Sends deliveries to a receiver on a file while retention runs. @throws Error if one is refused, or the receiver does not keep up */
export async function* soak({ file, deliveries, perSecond, points }: SoakOptions): AsyncGenerator<Point> {
  const clock = fastClock(TIMES);
  const inbox = createSqliteInbox({ file, keepDoneMs: KEEP_MS, keepUnhandledMs: KEEP_MS });
  const limits = { concurrency: 100, storeTimeoutMs: 60_000 * TIMES, timeoutMs: 0 };
  const receiver = createReceiver({ secret: SECRET, inbox, clock, log: false, ...limits });
  receiver.on("email", () => {}).on("tracking", () => {});
  await receiver.start();

  const waiting = (): number => inbox.stats().waiting + inbox.stats().unexpanded;
  const mostBehind = perSecond * MOST_BEHIND_SECONDS;
  const refusals: string[] = [];
  let [sent, inFlight] = [0, 0];

  async function send(number: number): Promise<void> {
    inFlight += 1;
    const request = signedRequest(bodyFor(number), { secret: SECRET, at: new Date(clock.now()) });
    const { status } = await receiver.receive(request);
    inFlight -= 1;
    if (status !== 200) refusals.push(`Delivery ${number} got ${status}, expected 200.`);
  }

  const startedAt = performance.now();
  for (let point = 1; point <= points; point += 1) {
    const goal = Math.round((deliveries * point) / points);
    while (sent < goal) {
      const due = Math.min(goal, ((performance.now() - startedAt) * perSecond) / 1_000);
      while (sent < due) void send((sent += 1));
      await sleep(TICK_MS);
      if (refusals[0] !== undefined) throw new Error(refusals[0]);
      if (inFlight + waiting() > mostBehind)
        throw new Error(
          `The receiver does not keep up: ${inFlight} in flight, ${waiting()} wait. Choose a lower --rate.`,
        );
    }
    yield await measure({ deliveries: sent, waiting: waiting() }, file);
  }
  await finish(receiver);
}

async function finish(receiver: Receiver): Promise<void> {
  await receiver.idle();
  await receiver.close();
}

/** Most are changes; some are unique, some unhandled. */
function bodyFor(number: number): string {
  if (number % 100 === 1) return trackingBody(tracked(number, { trackingId: number }));
  if (number % 100 === 2) return bodyOf({ resource: "/contacts", payloads: [change(`c-${number}`)] });
  return bodyOf({ payloads: [change(`m-${number % 10_000}`)], filler: "x".repeat(150) });
}

async function measure(counts: Pick<Point, "deliveries" | "waiting">, file: string): Promise<Point> {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return {
    ...counts,
    fileBytes: sizeOf(file),
    walBytes: sizeOf(`${file}-wal`),
    heapBytes: heapUsed,
    threadHeapBytes: await usedHeapOfThreads(),
    rssBytes: rss,
  };
}

/** A clock that runs so many times as fast as the machine's. */
function fastClock(times: number): Clock {
  const start = Date.now();
  const since = performance.now();
  return {
    now: () => Math.floor(start + (performance.now() - since) * times),
    setTimer(run, ms) {
      const timer = setTimeout(run, ms / times);
      return { clear: () => clearTimeout(timer) };
    },
  };
}
