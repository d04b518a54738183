import { pino } from "pino";

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

/** The logger of an option: a pino on stderr at level info when none is given, silence for `false`. */
export function toLogger(log: Logger | false | undefined): Logger {
  if (log === false) return SILENT;
  return log ?? pino({ name: "hookline", level: "info" }, pino.destination(2));
}

const nothing = (): void => {};
const SILENT: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
