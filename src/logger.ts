import { pino } from "pino";
import { kindOf } from "./assert.ts";
import type { Clock, Timer } from "./clock.ts";
import { UsageError } from "./errors.ts";
import { catchRejection, describeThrown } from "./thrown.ts";

/** A pino logger, or any object with these methods. */
export interface Logger {
  /** Details for debugging. */
  debug(facts: object, message?: string): void;
  /** Normal operation. */
  info(facts: object, message?: string): void;
  /** Needs attention, not at once. */
  warn(facts: object, message?: string): void;
  /** Needs attention now. */
  error(facts: object, message?: string): void;
}

/**
 * Resolves the `log` option: by default a pino at level info on stderr, or on the console of an edge runtime; silent for `false`. A
 * logger that throws or rejects changes no answer and ends no job. If it fails on an error object, such as pino on a getter that throws,
 * it is called again with the error's readable name and message.
 * @throws UsageError `option-invalid` for what is no logger: nothing would be logged, and nothing would say so
 */
export function toLogger(log: Logger | false | undefined): Logger {
  if (log === false) return SILENT;
  const logger = log ?? defaultLogger();
  if (Object.keys(SILENT).some((level) => typeof logger[level as Level] !== "function"))
    throw new UsageError(
      "option-invalid",
      `createReceiver got log ${kindOf(log)}, expected false or a logger with debug, info, warn and error.`,
    );
  const isLogged = (level: Level, facts: object, message: string | undefined): boolean => {
    try {
      const returned: unknown = logger[level](facts, message);
      catchRejection(returned);
      return true;
    } catch (error) {
      catchRejection(error);
      return false;
    }
  };
  return eachLevel((level) => (facts, message) => {
    if (isLogged(level, facts, message) || !("err" in facts)) return;
    isLogged(level, { ...facts, err: describeThrown(facts.err) }, message);
  });
}

function defaultLogger(): Logger {
  const options = { name: "hookline", level: "info" };
  // pino's browser build, which bundlers for edge runtimes use, has none.
  const { destination } = pino as Partial<typeof pino>;
  return destination === undefined
    ? pino({ ...options, browser: { asObject: true } })
    : pino(options, isPipe(process.stderr) ? toPipe(process.stderr) : toFile(destination));
}

const isPipe = (stderr: NodeJS.WriteStream): boolean => "connecting" in stderr && !stderr.isTTY;

const MAX_UNWRITTEN_BYTES = 1024 * 1024;

/**
 * Stderr that is a pipe or a socket, as of journald or a container. While its reader does not read, lines wait, and beyond a MiB they are
 * dropped. pino's own destination would try at the exit until all is written. A reader that has gone ends nothing either.
 */
function toPipe(stderr: NodeJS.WriteStream): { write(line: string): void } {
  if (!stderr.listeners("error").includes(ignore)) stderr.on("error", ignore);
  return {
    write(line) {
      if (stderr.writableLength < MAX_UNWRITTEN_BYTES) stderr.write(line);
    },
  };
}

function ignore(): void {}

/**
 * Stderr that survives a full disk: unwritten lines wait, and beyond a MiB they are dropped. A failed write does not end the process, nor
 * keep it from exiting, and logging resumes when there is space again.
 */
function toFile(destination: typeof pino.destination): ReturnType<typeof pino.destination> {
  const stream = destination({ dest: 2, sync: false, minLength: 1, maxLength: MAX_UNWRITTEN_BYTES });
  const flushAtExit = stream.flushSync.bind(stream);
  let fails = false;
  stream.on("error", () => (fails = true)).on("write", () => (fails = false));
  // Waiting lines are retried with the next write, and a dropped line is no write. `flush` does nothing without a minLength.
  stream.on("drop", () => stream.flush());
  // pino's own would retry until it succeeds.
  stream.flushSync = () => {
    if (!fails) flushAtExit();
  };
  return stream;
}

const INTERVAL_MS = 1_000;

/** A log with a rate limit. */
export interface ThrottledLog extends Logger {
  /** Logs the lines held back so far: the process may end before their second does. */
  flush(): void;
}

/** The state of one code and level. */
interface Throttle {
  /** Time of the last line logged. */
  at: number;
  /** Lines held back since. */
  held: number;
  /** Logs the last of them. */
  write: (suppressed: number) => void;
  timer: Timer | undefined;
}

/**
 * Logs one line a second for each code and level, so that unauthenticated clients, or a fault in every request or job, cannot fill the
 * disk. Of the lines held back the last is logged when the second ends, with the number left out as `suppressed`.
 */
export function throttledLog(log: Logger, clock: Clock): ThrottledLog {
  const throttles = new Map<string, Throttle>();

  function flush(throttle: Throttle): void {
    const { held, write, timer } = throttle;
    if (held === 0) return;
    timer?.clear();
    Object.assign(throttle, { at: clock.now(), held: 0, timer: undefined });
    write(held - 1);
  }

  const levels = eachLevel((level) => (facts, message = "") => {
    const key = `${level} ${"code" in facts ? String(facts.code) : message}`;
    const write = (suppressed: number): void =>
      log[level](suppressed === 0 ? facts : { ...facts, suppressed }, message);
    const now = clock.now();
    const throttle = throttles.get(key);
    const sinceMs = throttle === undefined ? INTERVAL_MS : now - throttle.at;
    if (throttle === undefined || sinceMs < 0 || sinceMs >= INTERVAL_MS) {
      throttle?.timer?.clear();
      throttles.set(key, { at: now, held: 0, write, timer: undefined });
      write(throttle?.held ?? 0);
      return;
    }
    throttle.held += 1;
    throttle.write = write;
    if (throttle.timer !== undefined) return;
    throttle.timer = clock.setTimer(() => flush(throttle), INTERVAL_MS - sinceMs);
    throttle.timer.unref?.();
  });
  return { ...levels, flush: () => throttles.forEach(flush) };
}

type Level = keyof Logger;

const SILENT: Logger = eachLevel(() => () => {});

function eachLevel(make: (level: Level) => Logger[Level]): Logger {
  return { debug: make("debug"), info: make("info"), warn: make("warn"), error: make("error") };
}
