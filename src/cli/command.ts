import type { Readable, Writable } from "node:stream";
import type { Flags, ValuesOf } from "./arguments.ts";
import type { ExitCode } from "./exit-codes.ts";

/** What a command has of the process that it runs in. */
export interface Io {
  readonly stdout: Terminal;
  readonly stderr: Terminal;
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where SIGTERM and SIGINT arrive. */
  readonly signals: {
    on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
    off(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  };
  /** Ends the process at once, whatever still runs. */
  exit(code: ExitCode): void;
}

/** What asks a program to end: a supervisor, and Ctrl-C. */
export type StopSignal = "SIGTERM" | "SIGINT";

/** A stream of text, which may be a terminal. */
export interface Terminal extends Writable {
  readonly isTTY?: boolean | undefined;
  /** How wide a terminal is. */
  readonly columns?: number | undefined;
}

/** One word that can follow `hookline`. */
export interface Command<F extends Flags = Flags> {
  readonly name: string;
  /** What stands for its name where no other word follows. */
  readonly alias?: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** What `hookline <name> --help` prints. */
  readonly help: string;
  readonly flags: F;
  /** @throws CommandError for what the person who typed it can change */
  run(values: ValuesOf<F>, io: Io): Promise<ExitCode>;
}

/** Infers what `run` gets from the flags. */
export function defineCommand<const F extends Flags>(command: Command<F>): Command<F> {
  return command;
}
