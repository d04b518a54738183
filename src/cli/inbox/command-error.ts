import { isHooklineError } from "../../index.ts";
import { CommandError } from "../command-error.ts";
import { EXIT } from "../exit-codes.ts";

/** An inbox's error in words for whoever typed the command; anything else as it is. */
export function toCommandError(error: unknown): unknown {
  if (!isHooklineError(error)) return error;
  const { code, message, fix = "" } = error;
  switch (code) {
    case "jobs-invalid": // only a filter's field gets that far
      return new CommandError(EXIT.usage, message.replace(/^jobs\.\w+\(\) got /, "--"), { cause: error });
    case "closed": // by a signal, between two pages
      return new CommandError(
        EXIT.failed,
        message.replace("The receiver closed", "Stopped").replace(fix, "The rest is as it was."),
        {
          cause: error,
        },
      );
    case "request-queued":
      return new CommandError(EXIT.queued, `${message} (${code})`, { cause: error });
    default:
      return new CommandError(EXIT.failed, `${message} (${code})`, { cause: error });
  }
}
