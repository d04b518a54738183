import type { Job, StoredDelivery } from "../../index.ts";
import { CommandError, defineCommand, EXIT } from "../command.ts";
import { ID_NUMBER } from "../flags.ts";
import { toJsonBlock, toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { secondText } from "../terminal/format.ts";
import { factLines } from "../terminal/table.ts";
import { CONTENT_FLAG, FILTER_FLAGS, INBOX_FLAGS, toFilter } from "./inbox-flags.ts";
import { base64Bytes, errorText, toDeliveryJson, toJobJson } from "./job-json.ts";
import { pagesOf } from "./read-jobs.ts";
import { withInbox } from "./with-inbox.ts";

/** `hookline inbox show`: one job in full. */
export const showCommand = defineCommand({
  name: "inbox show",
  summary: "One job, with its delivery.",
  help: {
    usage: "hookline inbox show <id> --inbox <inbox> [flags]",
    about: "Show one job, with what is stored of its delivery.",
  },
  flags: {
    id: { ...ID_NUMBER, argument: "ID", expects: "the number of a job", required: true },
    ...INBOX_FLAGS,
    ...CONTENT_FLAG,
  },
  run({ id, inbox, schema, json, "show-content": showContent }, io) {
    return withInbox({ inbox, schema, io, access: "read" }, async ({ receiver, printer }) => {
      const found = await receiver.jobs.get(String(id));
      if (found === undefined) throw new CommandError(EXIT.failed, `There is no job ${id}.`);
      await printer.print(json ? [toExportLine(found, showContent)] : toLines(found, showContent));
      return EXIT.done;
    });
  },
});

/** `hookline inbox export`: the same of many jobs, as lines of JSON. */
export const exportCommand = defineCommand({
  name: "inbox export",
  summary: "Jobs with their deliveries, as lines of JSON.",
  help: {
    usage: "hookline inbox export --inbox <inbox> [filters] [--show-content]",
    about: `Print jobs with their deliveries, each as a line of JSON.

  hookline inbox export --inbox inbox.db --show-content > jobs.jsonl
  hookline inbox export --inbox inbox.db --state dead --since 7d

With --show-content the delivery in a line is as receiver.handle() takes it, and as hookline explain reads it. Without
filters all jobs are printed, done ones too. All given filters must hold.`,
  },
  flags: { inbox: INBOX_FLAGS.inbox, schema: INBOX_FLAGS.schema, ...FILTER_FLAGS, ...CONTENT_FLAG },
  run({ inbox, schema, "show-content": showContent, ...filter }, io) {
    return withInbox({ inbox, schema, io, access: "read" }, async ({ receiver: { jobs }, printer }) => {
      for await (const page of pagesOf(jobs, toFilter(filter, Date.now())))
        for (const { id } of page.jobs) {
          const found = await jobs.get(id);
          // It may have been removed since the page was read.
          if (found !== undefined) await printer.print([toExportLine(found, showContent)]);
        }
      return EXIT.done;
    });
  },
});

type FoundJob = Job & { readonly delivery?: StoredDelivery };

function toExportLine({ delivery, ...job }: FoundJob, showContent: boolean): string {
  return toJsonLine({
    ...toJobJson(job, showContent),
    ...(delivery && { delivery: toDeliveryJson(delivery, showContent) }),
  });
}

function toLines({ delivery, ...job }: FoundJob, showContent: boolean): readonly string[] {
  const { event, lastError, nextAttemptAt, settledAt } = job;
  const { sentAt, signedBy = "", source, bodyBase64 } = delivery ?? {};
  const facts = factLines([
    ["job", job.id],
    ["state", job.state],
    ["event", event.type],
    ["account", event.accountId?.toString()],
    ["subscription", event.subscription?.toString()],
    ["consumer", job.consumer && toPlain(job.consumer)],
    ["attempts", job.attempts?.toString()],
    ["last error", lastError && `${errorText(job, showContent)} (${secondText(lastError.at)})`],
    ["next attempt", nextAttemptAt && secondText(nextAttemptAt)],
    ["received", secondText(job.receivedAt)],
    ["sent", sentAt && secondText(new Date(sentAt))],
    ["settled", settledAt && secondText(settledAt)],
    ["replay of", job.replayOf],
    [
      "delivery",
      `${job.deliveryId}, ${bodyBase64 === undefined ? "its body is deleted" : `${base64Bytes(bodyBase64)} bytes, signed by ${toPlain(signedBy)}`}`,
    ],
    ["source", source && toPlain(source)],
    ["lane", showContent && job.lane !== undefined ? toPlain(job.lane) : undefined],
    ["content", showContent ? undefined : "hidden: --show-content shows it"],
  ]);
  if (!showContent || bodyBase64 === undefined) return facts;
  const body = Buffer.from(bodyBase64, "base64").toString();
  return [...facts, "", "event:", toJsonBlock(event), "", "body:", ...body.split(/\r?\n/).map(toPlain)];
}
