import { createReceiver, type Clock, type Receiver } from "hookline";
import { statSync } from "node:fs";
import { createSqliteInbox } from "../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { bodyOf, change, signedRequest, tracked, trackingBody } from "../support/make-delivery.ts";
import type { Point } from "./growth.ts";

export interface SoakOptions {
  readonly file: string;
  readonly deliveries: number;
  /** Number of measurements. */
  readonly points: number;
}

const SECRET = "a signing secret";
/** Concurrent requests. */
const AT_ONCE = 64;
/** Sending pauses while more jobs wait: retention deletes handled ones only. */
const MOST_WAITING = 2_000;
const LOOK_MS = 20;
/** A minute of the clock takes three seconds, and done jobs stay for nine. */
const TIMES = 20;
const KEEP_MS = 180_000;

/** Pushes deliveries through a receiver on a file while retention runs. */
export async function* soak({ file, deliveries, points }: SoakOptions): AsyncGenerator<Point> {
  const clock = fastClock(TIMES);
  const inbox = createSqliteInbox({ file, keepDoneMs: KEEP_MS, keepUnhandledMs: KEEP_MS });
  const limits = { concurrency: 100, storeTimeoutMs: 60_000 * TIMES, timeoutMs: 0 };
  const receiver = createReceiver({ secret: SECRET, inbox, clock, log: false, ...limits });
  receiver.on("email", () => {}).on("tracking", () => {});
  await receiver.start();

  const waiting = (): number => inbox.stats().waiting + inbox.stats().unexpanded;

  let sent = 0;
  async function sendUntil(goal: number): Promise<void> {
    while (sent < goal) {
      sent += 1;
      const request = signedRequest(bodyFor(sent), { secret: SECRET, at: new Date(clock.now()) });
      const { status } = await receiver.receive(request);
      if (status !== 200) throw new Error(`Delivery ${sent} got ${status}, expected 200.`);
      while (waiting() > MOST_WAITING) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  for (let point = 1; point <= points; point += 1) {
    const [before, since] = [sent, performance.now()];
    const goal = Math.round((deliveries * point) / points);
    await Promise.all(Array.from({ length: AT_ONCE }, () => sendUntil(goal)));
    const perSecond = ((sent - before) * 1_000) / (performance.now() - since);
    yield measure({ deliveries: sent, perSecond, waiting: waiting() }, file);
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

function measure(counts: Pick<Point, "deliveries" | "perSecond" | "waiting">, file: string): Point {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return {
    ...counts,
    fileBytes: sizeOf(file),
    walBytes: sizeOf(`${file}-wal`),
    heapBytes: heapUsed,
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
