import type { ExitCode } from "./exit-codes.ts";

/** Ends a command with a sentence for the person who typed it: no stack, and an exit code for scripts. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
