import type { Readable, Writable } from "node:stream";
import type { Flags, ValuesOf } from "./arguments.ts";

/** The parts of the process that a command uses. */
export interface Io {
  readonly stdout: Terminal;
  readonly stderr: Terminal;
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where relative paths begin. @default the process's own */
  readonly cwd?: string | undefined;
  /** Emits the signals that ask the program to end. */
  readonly signals: {
    on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
    off(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  };
  /** Ends the process at once, whatever still runs. */
  exit(code: ExitCode): void;
}

/** Sent by a supervisor, by Ctrl-C, and by a terminal that closes. */
export type StopSignal = "SIGTERM" | "SIGINT" | "SIGHUP";

/** A stream of text, which may be a terminal. */
export interface Terminal extends Writable {
  readonly isTTY?: boolean | undefined;
  /** Width of a terminal. */
  readonly columns?: number | undefined;
}

/** One command, such as `serve` or `inbox list`. */
export interface Command<F extends Flags = Flags> {
  readonly name: string;
  /** Shorter name, valid where no other word follows. */
  readonly alias?: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly help: CommandHelp;
  /** Flags and positional arguments: parsed, checked and listed in the help from this table. */
  readonly flags: F;
  /**
   * Resolves with an {@link ExitCode}, or with the code of another program that was run.
   *
   * @throws CommandError for what the user can correct
   */
  run(values: ValuesOf<F>, io: Io): Promise<number>;
}

/** The parts of `--help` that do not follow from the flags. A paragraph that is not indented is wrapped to 80 columns. */
interface CommandHelp {
  /** A line for each way to call the command. */
  readonly usage: string;
  /** Above the flags; its first paragraph says what the command does. */
  readonly about: string;
  /** Below the flags. */
  readonly notes?: string;
  /** Whose secret SIGNING_SECRET is, where the command needs one. */
  readonly secretOf?: string;
  /** Other variables of the environment that the command reads. */
  readonly environment?: readonly (readonly [name: string, about: string])[];
  /** Meanings of the exit codes that differ from the usual ones. */
  readonly exits?: Partial<Record<ExitCode, string>>;
}

/** Infers the type of `run`'s values from the flags. */
export function defineCommand<const F extends Flags>(command: Command<F>): Command<F> {
  return command;
}

/** Exit codes, for scripts. `queued`: the change is stored and will be carried out, so a script must not repeat it. */
export const EXIT = { done: 0, failed: 1, usage: 2, queued: 3 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command with a sentence for the user: no stack, and an exit code for scripts. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/**
 * The signing secret from the environment: as a flag it would be visible in the list of processes.
 *
 * @throws CommandError when there is none
 */
export function secretOf({ SIGNING_SECRET }: Io["env"]): string {
  if (SIGNING_SECRET !== undefined && SIGNING_SECRET.trim() !== "") return SIGNING_SECRET;
  throw new CommandError(
    EXIT.usage,
    `SIGNING_SECRET is ${SIGNING_SECRET === undefined ? "not set" : "empty"}. Set it to the signing secret of the application, from the service's dashboard.`,
  );
}
