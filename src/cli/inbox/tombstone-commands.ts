import { CommandError, defineCommand, EXIT } from "../command.ts";
import { ID_NUMBER, nonEmpty } from "../flags.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { grouped, minuteText } from "../terminal/format.ts";
import { createTable } from "../terminal/table.ts";
import { CONTENT_FLAG, INBOX_FLAGS } from "./inbox-flags.ts";
import { hideAddresses } from "./job-json.ts";
import { withInbox } from "./with-inbox.ts";

/** `hookline inbox tombstones list`: the subscriptions that are answered 422. */
export const tombstonesCommand = defineCommand({
  name: "inbox tombstones list",
  alias: "inbox tombstones",
  summary: "Unwanted subscriptions: answered 422.",
  help: {
    usage: "hookline inbox tombstones [list] --inbox <inbox> [flags]",
    about: `List the unwanted subscriptions: their deliveries are answered 422, which makes the service delete them.

A tombstone expires 30 days after its last hit.`,
  },
  flags: { ...INBOX_FLAGS, ...CONTENT_FLAG },
  run({ inbox, schema, json, "show-content": showContent }, io) {
    return withInbox({ inbox, schema, io, access: "read" }, async ({ receiver, printer }) => {
      const found = (await receiver.lists.tombstones()).map(({ subscription, source, reason, since, lastHit }) => ({
        subscription,
        source,
        reason: showContent ? reason : hideAddresses(reason),
        since,
        lastHit,
      }));
      if (json) await printer.print(found.map(toJsonLine));
      else if (found.length === 0) io.stderr.write("There are no tombstones.\n");
      else {
        const rows = found.map(({ subscription, source, reason, since, lastHit }) => [
          String(subscription),
          source === undefined ? "(every)" : toPlain(source) || "(none)",
          minuteText(since),
          minuteText(lastHit),
          toPlain(reason),
        ]);
        const heads = ["SUBSCRIPTION", "SOURCE", "SINCE (UTC)", "LAST HIT (UTC)", "REASON"];
        await printer.print(createTable(heads, io.stdout).lines(rows));
      }
      return EXIT.done;
    });
  },
});

/** `hookline inbox tombstones lift`: accepts a subscription again. */
export const liftCommand = defineCommand({
  name: "inbox tombstones lift",
  summary: "Accept a subscription again.",
  help: {
    usage: "hookline inbox tombstones lift <subscription> --inbox <inbox> [flags]",
    about: `Accept a subscription again: its deliveries are stored and handled from now on.

A receiver that runs on the inbox applies it within a second.`,
  },
  flags: {
    subscription: { ...ID_NUMBER, argument: "SUBSCRIPTION", required: true },
    source: {
      ...nonEmpty("the source of a mount"),
      value: "<source>",
      about: "Only the tombstone of this source. Default: all of them.",
    },
    ...INBOX_FLAGS,
  },
  run({ subscription, source, inbox, schema, json }, io) {
    return withInbox({ inbox, schema, io, access: "change" }, async ({ receiver, printer }) => {
      const standing = (await receiver.lists.tombstones()).filter((one) => one.subscription === subscription);
      if (source !== undefined && standing.some((one) => one.source === undefined))
        throw new CommandError(
          EXIT.failed,
          `Subscription ${subscription} has a tombstone of every source, so it stays unwanted: lift it without --source.`,
        );
      const lifted = standing.filter((one) => source === undefined || one.source === source).length;
      if (lifted === 0)
        throw new CommandError(EXIT.failed, `Subscription ${subscription} has no tombstone: see tombstones list.`);
      await receiver.resubscribe(subscription, source === undefined ? {} : { source });
      const what = `${grouped(lifted)} ${lifted === 1 ? "tombstone" : "tombstones"} of subscription ${subscription}`;
      await printer.print([json ? toJsonLine({ subscription, lifted }) : `Lifted ${what}.`]);
      return EXIT.done;
    });
  },
});
