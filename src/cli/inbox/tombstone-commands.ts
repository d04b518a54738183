import type { RequiredFlag } from "../arguments.ts";
import { CommandError } from "../command-error.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { grouped } from "../terminal/format.ts";
import { INBOX_FLAGS, SHOW_FLAGS } from "./common-flags.ts";
import { NUMBER, textFlag } from "./inbox-flags.ts";
import { LIFT_HELP, TOMBSTONES_HELP } from "./help-tombstones.ts";
import { minuteText } from "./time-flag.ts";
import { withInbox } from "./with-inbox.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { createTable } from "../terminal/table.ts";
import { hideAddresses } from "./job-json.ts";

/** `hookline inbox tombstones list`: which subscriptions are answered 422. */
export const tombstonesCommand = defineCommand({
  name: "inbox tombstones list",
  alias: "inbox tombstones",
  summary: "Subscriptions that are unwanted: answered 422.",
  help: TOMBSTONES_HELP,
  flags: SHOW_FLAGS,
  run({ inbox: file, json, "show-content": showContent }, io) {
    return withInbox({ file, io, use: "look" }, async ({ tombstones, printer }) => {
      const stones = (await tombstones()).map(({ subscription, source, reason, since, lastHit }) => ({
        subscription,
        source,
        reason: showContent ? reason : hideAddresses(reason),
        since: new Date(since),
        lastHit: new Date(lastHit),
      }));
      if (json) await printer.print(stones.map(toJsonLine));
      else if (stones.length === 0) io.stderr.write("There are no tombstones.\n");
      else await printer.print(createTable(HEADS, io.stdout).lines(stones.map(rowOf)));
      return EXIT.done;
    });
  },
});

const HEADS = ["SUBSCRIPTION", "SOURCE", "SINCE (UTC)", "LAST HIT (UTC)", "REASON"];

function rowOf(stone: {
  readonly subscription: number;
  readonly source: string | undefined;
  readonly reason: string;
  readonly since: Date;
  readonly lastHit: Date;
}): readonly string[] {
  const { subscription, source, reason, since, lastHit } = stone;
  return [
    String(subscription),
    source === undefined ? "(every)" : toPlain(source),
    minuteText(since),
    minuteText(lastHit),
    toPlain(reason),
  ];
}

const subscriptionArgument: RequiredFlag<number> & { readonly argument: string } = {
  argument: "SUBSCRIPTION",
  ...NUMBER,
  required: true,
};

/** `hookline inbox tombstones lift`: a subscription is wanted again. */
export const liftCommand = defineCommand({
  name: "inbox tombstones lift",
  summary: "Want a subscription again.",
  help: LIFT_HELP,
  flags: { subscription: subscriptionArgument, source: textFlag("the source of a mount"), ...INBOX_FLAGS },
  run({ subscription, source, inbox: file, json }, io) {
    return withInbox({ file, io, use: "change" }, async ({ receiver, tombstones, printer }) => {
      const lifted = (await tombstones()).filter(
        (stone) => stone.subscription === subscription && (source === undefined || stone.source === source),
      ).length;
      if (lifted === 0)
        throw new CommandError(
          EXIT.failed,
          `No tombstone stands for subscription ${subscription}: see tombstones list.`,
        );
      await receiver.resubscribe(subscription, source === undefined ? {} : { source });
      const what = `${grouped(lifted)} ${lifted === 1 ? "tombstone" : "tombstones"} of subscription ${subscription}`;
      await printer.print([json ? toJsonLine({ subscription, lifted }) : `Lifted ${what}.`]);
      return EXIT.done;
    });
  },
});
