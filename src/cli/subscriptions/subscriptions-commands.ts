import { CommandError, defineCommand, EXIT, type Command } from "../command.ts";
import { commandRows, section } from "../help.ts";
import { ACCOUNT_ENVIRONMENT, ACCOUNT_FLAGS } from "./account-client.ts";
import { deleteSubscription, listSubscriptions } from "./list-and-delete.ts";
import { applyCommand, planCommand } from "./plan-and-apply.ts";

/** The commands below `hookline subscriptions`, in the order of the help. */
export const SUBSCRIPTIONS_COMMANDS: readonly Command[] = [
  listSubscriptions,
  planCommand,
  applyCommand,
  deleteSubscription,
];

const ROWS = commandRows(SUBSCRIPTIONS_COMMANDS, "subscriptions ");

/** `hookline subscriptions` without one of its commands. */
export const subscriptionsCommand = defineCommand({
  name: "subscriptions",
  summary: "List, create and delete an account's subscriptions.",
  help: {
    usage: "hookline subscriptions <command> [flags]",
    about: `List, create and delete the subscriptions of one account at the service.

${section("Commands", ROWS)}

  hookline subscriptions plan --help is the help of plan.`,
    environment: ACCOUNT_ENVIRONMENT,
  },
  // A flag may stand before the word that is missing.
  flags: {
    words: { argument: "COMMAND", expects: "a command", read: (text: string) => text, many: true },
    ...ACCOUNT_FLAGS,
  },
  async run({ words }) {
    const allowed = ROWS.map(([name]) => name).join(", ");
    const what = words.length === 0 ? "The command is missing" : `There is no command ${words.join(" ")}`;
    throw new CommandError(EXIT.usage, `${what}. Allowed: ${allowed}.`);
  },
});
