import type { Writable } from "node:stream";
import { CommandError, EXIT, type ExitCode, type Io } from "../command.ts";

/** Prints as fast as the reader of the stream takes it. */
export interface Printer {
  /** @throws PrintError when the stream fails */
  print(lines: readonly string[]): Promise<void>;
}

function createPrinter(stream: Writable): Printer {
  let hasPrinted = false;

  function write(lines: readonly string[]): Promise<void> {
    const text = lines.map((line) => `${line}\n`).join("");
    return new Promise((resolve, reject) => {
      stream.write(text, (error) => (error ? reject(new PrintError(error, hasPrinted)) : resolve()));
    });
  }

  return {
    async print(lines) {
      // The first line goes alone: a reader that leaves after it has seen enough, one that left before has seen nothing.
      const alone = hasPrinted ? 0 : 1;
      if (!hasPrinted) await write(lines.slice(0, alone));
      hasPrinted = true;
      if (lines.length > alone) await write(lines.slice(alone));
    },
  };
}

/**
 * Runs a command that prints. One that only reads has failed where nothing was printed.
 *
 * @throws CommandError when stdout failed, and what `run` throws
 */
export async function withPrinter(
  { stdout }: Pick<Io, "stdout">,
  access: "read" | "change",
  run: (printer: Printer) => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await run(createPrinter(stdout));
  } catch (error) {
    if (!(error instanceof PrintError)) throw error;
    if (access === "read" && !error.hasPrinted && error.cause.code === "EPIPE")
      throw new CommandError(EXIT.failed, "stdout was closed before anything was printed.", { cause: error });
    return exitCodeOf(error.cause);
  }
}

/** The stream failed. */
class PrintError extends Error {
  override readonly name = "PrintError";
  override readonly cause: NodeJS.ErrnoException;
  /** Whether something was printed before. */
  readonly hasPrinted: boolean;

  constructor(cause: NodeJS.ErrnoException, hasPrinted: boolean) {
    super(cause.message, { cause });
    this.cause = cause;
    this.hasPrinted = hasPrinted;
  }
}

/**
 * The exit code of a command whose stdout failed: a reader that has seen enough, such as `head`, is no failure.
 *
 * @throws CommandError for any other cause
 */
export function exitCodeOf(error: NodeJS.ErrnoException): ExitCode {
  if (error.code === "EPIPE") return EXIT.done;
  throw new CommandError(EXIT.failed, `stdout takes no more lines: ${error.message}.`, { cause: error });
}
