import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";

/**
 * How a command ends whose stdout takes no more: a reader who has seen enough, such as `head`, is no failure.
 * @throws CommandError for any other cause
 */
export function endedWithoutReader(error: NodeJS.ErrnoException): ExitCode {
  if (error.code === "EPIPE") return EXIT.done;
  throw new CommandError(EXIT.failed, `stdout takes no more lines: ${error.message}.`, { cause: error });
}
