import type { BlockedLane } from "../../index.ts";
import { defineCommand, EXIT } from "../command.ts";
import { wholeNumber } from "../flags.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { grouped, minuteText } from "../terminal/format.ts";
import { createTable } from "../terminal/table.ts";
import { CONTENT_FLAG, INBOX_FLAGS } from "./inbox-flags.ts";
import { errorText, toJobJson } from "./job-json.ts";
import { withInbox } from "./with-inbox.ts";

/** `hookline inbox lanes`: what waits for a next attempt. */
export const lanesCommand = defineCommand({
  name: "inbox lanes",
  summary: "Blocked lanes: what waits for a next attempt.",
  help: {
    usage: "hookline inbox lanes --inbox <inbox> [flags]",
    about: `List the blocked lanes, the soonest attempt first: each with its first job, which failed, and how many wait behind it.

  hookline inbox lanes --inbox inbox.db --json

With many thousand waiting jobs not all that are behind are counted: there are at least so many. drop removes a job that
is never to succeed, and its lane goes on.`,
  },
  flags: {
    ...INBOX_FLAGS,
    ...CONTENT_FLAG,
    limit: { ...wholeNumber(1, 1_000), value: "<n>", about: "At most so many.", default: 50 },
  },
  run({ inbox, schema, json, "show-content": showContent, limit }, io) {
    return withInbox({ inbox, schema, io, access: "read" }, async ({ receiver, printer }) => {
      const { lanes, next } = await receiver.lists.blockedLanes({ limit });
      const lines = json
        ? lanes.map(({ job, behind }) => toJsonLine({ behind, job: toJobJson(job, showContent) }))
        : createTable(HEADS, io.stdout).lines(lanes.map((lane) => toRow(lane, showContent)));
      if (lanes.length > 0) await printer.print(lines);
      else if (!json) io.stderr.write("No lane is blocked.\n");
      if (next !== undefined) io.stderr.write("There are more: a higher --limit shows them.\n");
      return EXIT.done;
    });
  },
});

const HEADS = ["NEXT ATTEMPT (UTC)", "BEHIND", "JOB", "TYPE", "ACCOUNT", "CONSUMER", "TRIES", "LAST ERROR"];

function toRow({ job, behind }: BlockedLane, showContent: boolean): readonly string[] {
  const { id, event, consumer, attempts, nextAttemptAt } = job;
  return [
    nextAttemptAt === undefined ? "" : minuteText(nextAttemptAt),
    grouped(behind),
    id,
    event.type,
    String(event.accountId ?? ""),
    toPlain(consumer ?? ""),
    String(attempts ?? ""),
    errorText(job, showContent) ?? "",
  ];
}
