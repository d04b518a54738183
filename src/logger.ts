import { pino } from "pino";
import type { Clock, Timer } from "./clock.ts";
import { describeThrown, catchRejection } from "./thrown.ts";

/** What Hookline logs with: pino, or anything of its shape. */
export interface Logger {
  /** What is for somebody who looks for a fault. */
  debug(facts: object, message?: string): void;
  /** What is as it should be. */
  info(facts: object, message?: string): void;
  /** What somebody should look at when there is time. */
  warn(facts: object, message?: string): void;
  /** What somebody must look at. */
  error(facts: object, message?: string): void;
}

/**
 * The logger of an option: a pino at level info when none is given, on stderr, or on the console of an edge runtime; silence for
 * `false`. One that throws or rejects is not heard, but it changes no answer and ends no job. One that stumbles over what was thrown,
 * such as pino over a getter that throws, is given what can be read of it.
 */
export function toLogger(log: Logger | false | undefined): Logger {
  if (log === false) return SILENT;
  const told = log ?? defaultLogger();
  // Where it is not taken, there is no place left to say so.
  const isTaken = (level: Level, facts: object, message: string | undefined): boolean => {
    try {
      const returned: unknown = told[level](facts, message);
      catchRejection(returned);
      return true;
    } catch (error) {
      catchRejection(error);
      return false;
    }
  };
  return eachLevel((level) => (facts, message) => {
    if (isTaken(level, facts, message) || !("err" in facts)) return;
    isTaken(level, { ...facts, err: describeThrown(facts.err) }, message);
  });
}

function defaultLogger(): Logger {
  const options = { name: "hookline", level: "info" };
  // pino's build for browsers, which bundlers for edge runtimes take, has none.
  const { destination } = pino as Partial<typeof pino>;
  return destination === undefined
    ? pino({ ...options, browser: { asObject: true } })
    : pino(options, toStderr(destination));
}

const MAX_UNWRITTEN_BYTES = 1024 * 1024;

/**
 * Stderr, whatever becomes of it. What a full disk does not take waits, and beyond a MiB it is left out: that ends no process, now
 * or at its exit, and the log goes on when there is room again.
 */
function toStderr(destination: typeof pino.destination): ReturnType<typeof pino.destination> {
  const stream = destination({ dest: 2, sync: false, minLength: 1, maxLength: MAX_UNWRITTEN_BYTES });
  const flushAtExit = stream.flushSync.bind(stream);
  let fails = false;
  stream.on("error", () => (fails = true)).on("write", () => (fails = false));
  // What waits is tried again with the next write, and what is left out is none; `flush` does nothing without a minLength.
  stream.on("drop", () => stream.flush());
  // It tries until it succeeds.
  stream.flushSync = () => {
    if (!fails) flushAtExit();
  };
  return stream;
}

const INTERVAL_MS = 1_000;

/** A log that holds lines back. */
export interface ThrottledLog extends Logger {
  /** Tells what is held back now: the process may end before its time. */
  flush(): void;
}

/** Of one code. */
interface Throttle {
  /** When its last line was told. */
  at: number;
  /** Lines held back since. */
  held: number;
  /** Tells the last of them. */
  tell: (suppressed: number) => void;
  timer: Timer | undefined;
}

/**
 * A line a second for each code and level: for what a stranger, or a fault in every request or job, can cause, so that it does not fill
 * the disk. Of those held back the last comes when the second is over, and says how many were left out, as `suppressed`.
 */
export function throttledLog(log: Logger, clock: Clock): ThrottledLog {
  const throttles = new Map<string, Throttle>();

  function flush(throttle: Throttle): void {
    const { held, tell, timer } = throttle;
    if (held === 0) return;
    timer?.clear();
    Object.assign(throttle, { at: clock.now(), held: 0, timer: undefined });
    tell(held - 1);
  }

  const levels = eachLevel((level) => (facts, message = "") => {
    const key = `${level} ${"code" in facts ? String(facts.code) : message}`;
    const tell = (suppressed: number): void => log[level](suppressed === 0 ? facts : { ...facts, suppressed }, message);
    const now = clock.now();
    const throttle = throttles.get(key);
    const sinceMs = throttle === undefined ? INTERVAL_MS : now - throttle.at;
    if (throttle === undefined || sinceMs < 0 || sinceMs >= INTERVAL_MS) {
      throttle?.timer?.clear();
      throttles.set(key, { at: now, held: 0, tell, timer: undefined });
      tell(throttle?.held ?? 0);
      return;
    }
    throttle.held += 1;
    throttle.tell = tell;
    if (throttle.timer !== undefined) return;
    throttle.timer = clock.setTimer(() => flush(throttle), INTERVAL_MS - sinceMs);
    throttle.timer.unref?.();
  });
  return { ...levels, flush: () => throttles.forEach(flush) };
}

type Level = keyof Logger;

function eachLevel(make: (level: Level) => Logger[Level]): Logger {
  return { debug: make("debug"), info: make("info"), warn: make("warn"), error: make("error") };
}

const SILENT: Logger = eachLevel(() => () => {});
