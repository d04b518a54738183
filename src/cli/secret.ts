import { CommandError } from "./command-error.ts";
import type { Io } from "./command.ts";
import { EXIT } from "./exit-codes.ts";

/**
 * The signing secret that a command works with.
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
