import type { Job, StoredDelivery } from "../../index.ts";
import type { RequiredFlag } from "../arguments.ts";
import { CommandError } from "../command-error.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { SHOW_FLAGS } from "./common-flags.ts";
import { NUMBER } from "./inbox-flags.ts";
import { SHOW_HELP } from "./help-looking.ts";
import { errorText } from "./list.ts";
import { timeText } from "./time-flag.ts";
import { withInbox } from "./with-inbox.ts";
import { toJsonBlock, toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { factLines } from "../terminal/table.ts";
import { bytesOf, toDeliveryView, toView } from "./job-json.ts";

const idArgument: RequiredFlag<number> & { readonly argument: string } = {
  argument: "ID",
  ...NUMBER,
  expects: "the number of a job",
  required: true,
};

/** `hookline inbox show`: all that is known of one job. */
export const showCommand = defineCommand({
  name: "inbox show",
  summary: "One job, with its delivery.",
  help: SHOW_HELP,
  flags: { id: idArgument, ...SHOW_FLAGS },
  run({ id, inbox: file, json, "show-content": showContent }, io) {
    return withInbox({ file, io, use: "look" }, async ({ receiver, printer }) => {
      const found = await receiver.jobs.get(String(id));
      if (found === undefined) throw new CommandError(EXIT.failed, `There is no job ${id}.`);
      await printer.print(json ? [toExportLine(found, showContent)] : linesOf(found, showContent));
      return EXIT.done;
    });
  },
});

type FoundJob = Job & { readonly delivery: StoredDelivery };

/** A job with its delivery as one line of JSON. */
export function toExportLine({ delivery, ...job }: FoundJob, showContent: boolean): string {
  return toJsonLine({ ...toView(job, showContent), delivery: toDeliveryView(delivery, showContent) });
}

function linesOf({ delivery, ...job }: FoundJob, showContent: boolean): readonly string[] {
  const { event, lastError, nextAttemptAt, settledAt } = job;
  const { id, sentAt, signedBy, source, bodyBase64 } = delivery;
  const facts = factLines([
    ["job", job.id],
    ["state", job.state],
    ["event", event.type],
    ["account", event.accountId?.toString()],
    ["subscription", event.subscription?.toString()],
    ["consumer", job.consumer && toPlain(job.consumer)],
    ["attempts", job.attempts?.toString()],
    ["last error", lastError && `${errorText(lastError, showContent ? undefined : job)} (${timeText(lastError.at)})`],
    ["next attempt", nextAttemptAt && timeText(nextAttemptAt)],
    ["received", timeText(job.receivedAt)],
    ["sent", timeText(new Date(sentAt))],
    ["settled", settledAt && timeText(settledAt)],
    ["replay of", job.replayOf],
    ["delivery", `${id}, ${bytesOf(bodyBase64)} bytes, signed by ${toPlain(signedBy)}`],
    ["source", source && toPlain(source)],
    ["lane", showContent && job.lane !== undefined ? toPlain(job.lane) : undefined],
    ["content", showContent ? undefined : "hidden: --show-content shows it"],
  ]);
  if (!showContent) return facts;
  const body = Buffer.from(bodyBase64, "base64").toString();
  return [...facts, "", "event:", toJsonBlock(event), "", "body:", ...body.split(/\r?\n/).map(toPlain)];
}
