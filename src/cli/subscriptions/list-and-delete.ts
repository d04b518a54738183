import type { Subscription } from "../../client.ts";
import { defineCommand, EXIT } from "../command.ts";
import { ID_NUMBER } from "../flags.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { withPrinter } from "../terminal/printer.ts";
import { createTable } from "../terminal/table.ts";
import { ACCOUNT_ENVIRONMENT, ACCOUNT_FLAGS, accountClient } from "./account-client.ts";

/** `hookline subscriptions list`: what the service has. */
export const listSubscriptions = defineCommand({
  name: "subscriptions list",
  summary: "The subscriptions of an account.",
  help: {
    usage: "hookline subscriptions list [flags]",
    about: "List the subscriptions of an account, those that do not work included.",
    environment: ACCOUNT_ENVIRONMENT,
  },
  flags: ACCOUNT_FLAGS,
  run: ({ api, json }, { env, stdout, stderr }) =>
    withPrinter({ stdout }, "read", async (printer) => {
      const client = accountClient(env, api);
      const found: Subscription[] = [];
      for await (const one of client.subscriptions.list({ includeInactive: true })) found.push(one);
      if (json) await printer.print(found.map(toJsonLine));
      else if (found.length === 0) stderr.write("There are no subscriptions.\n");
      else {
        const rows = found.map((one) => [
          String(one.id),
          toPlain(one.resource),
          toPlain(stateOf(one)),
          toPlain(one.notificationUrl),
        ]);
        await printer.print(createTable(["ID", "RESOURCE", "STATE", "URL"], stdout).lines(rows));
      }
      return EXIT.done;
    }),
});

/** `hookline subscriptions delete`: ends one at the service. */
export const deleteSubscription = defineCommand({
  name: "subscriptions delete",
  summary: "Delete a subscription at the service.",
  help: {
    usage: "hookline subscriptions delete <subscription> [flags]",
    about: `Delete a subscription at the service: it announces nothing more.

Deliveries that are under way still come. A receiver that is to refuse them has a tombstone: see hookline inbox tombstones.`,
    environment: ACCOUNT_ENVIRONMENT,
  },
  flags: { subscription: { ...ID_NUMBER, argument: "SUBSCRIPTION", required: true }, ...ACCOUNT_FLAGS },
  run: ({ subscription, api, json }, { env, stdout }) =>
    withPrinter({ stdout }, "change", async (printer) => {
      await accountClient(env, api).subscriptions.delete(subscription);
      await printer.print([json ? toJsonLine({ deleted: subscription }) : `Deleted subscription ${subscription}.`]);
      return EXIT.done;
    }),
});

function stateOf({ active, failSince, failDescription, disabledByBilling }: Subscription): string {
  if (disabledByBilling === true) return "disabled by billing";
  if (active !== false && failSince === undefined) return "active";
  return [failDescription ?? "fails", ...(failSince === undefined ? [] : [`since ${failSince}`])].join(", ");
}
