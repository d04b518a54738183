import { createClient, type Client } from "../../client.ts";
import { CommandError, EXIT, type Io } from "../command.ts";
import { API_URL } from "../flags.ts";

/** Flags of every command below `hookline subscriptions`. */
export const ACCOUNT_FLAGS = {
  api: { ...API_URL, value: "<url>", about: "The base URL of the service's API. Default: that of the service." },
  json: { about: "Print a line of JSON for each, for scripts." },
} as const;

/** For the help of these commands. */
export const ACCOUNT_ENVIRONMENT = [["ACCESS_TOKEN", "The access token of the account. Required."]] as const;

/**
 * A client of the account whose token is in the environment: as a flag it would be visible in the list of processes.
 *
 * @param hint added to the message, such as another way
 * @throws CommandError when there is none
 */
export function accountClient({ ACCESS_TOKEN }: Io["env"], api: string | undefined, hint = ""): Client {
  if (ACCESS_TOKEN !== undefined && ACCESS_TOKEN.trim() !== "")
    return createClient({ token: ACCESS_TOKEN, baseUrl: api });
  throw new CommandError(
    EXIT.usage,
    `ACCESS_TOKEN is ${ACCESS_TOKEN === undefined ? "not set" : "empty"}. Set it to the access token of the account.${hint}`,
  );
}
