import type { Job, JobSummary } from "../../index.ts";
import { defineCommand, EXIT, type Terminal } from "../command.ts";
import { ID_NUMBER, wholeNumber } from "../flags.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { grouped, minuteText } from "../terminal/format.ts";
import { createTable } from "../terminal/table.ts";
import { CONTENT_FLAG, FILTER_FLAGS, INBOX_FLAGS, toFilter } from "./inbox-flags.ts";
import { errorText, toJobJson } from "./job-json.ts";
import { pagesOf } from "./read-jobs.ts";
import { readStats } from "./read-stats.ts";
import { inboxPlace, withInbox } from "./with-inbox.ts";

/** `hookline inbox list`: jobs, a line each. */
export const listCommand = defineCommand({
  name: "inbox list",
  summary: "Jobs, a line each, oldest first.",
  help: {
    usage: "hookline inbox list --inbox <inbox> [filters] [flags]",
    about: `List jobs, a line each, in the order in which they were made.

  hookline inbox list --inbox inbox.db --state dead --since 2d
  hookline inbox list --inbox inbox.db --account 2002 --json
  hookline inbox list --inbox inbox.db --state dead --summary

It writes nothing, and does not slow down a receiver on the inbox. All given filters must hold.`,
  },
  flags: {
    ...INBOX_FLAGS,
    ...CONTENT_FLAG,
    ...FILTER_FLAGS,
    summary: { about: "Count the jobs by consumer, type and name of the last error instead: the 100 largest groups." },
    limit: { ...wholeNumber(1, 1_000_000), value: "<n>", about: "At most so many.", default: 50 },
    after: { ...ID_NUMBER, value: "<id>", about: "Continue after this job." },
  },
  run({ inbox, schema, json, "show-content": showContent, summary, limit, after, ...filter }, io) {
    return withInbox({ inbox, schema, io, access: "read" }, async ({ receiver, printer }) => {
      if (summary) {
        const { groups, isCut } = await receiver.jobs.summary(toFilter(filter, Date.now()));
        if (groups.length > 0) await printer.print(json ? groups.map(toJsonLine) : groupLines(groups, io.stdout));
        else if (!json) io.stderr.write(NONE);
        if (isCut) io.stderr.write("There are more groups: a filter shows them.\n");
        return EXIT.done;
      }
      const table = createTable(HEADS, io.stdout);
      const pages = pagesOf(receiver.jobs, { ...toFilter(filter, Date.now()), after: after?.toString() }, limit);
      let next: string | undefined;
      let isEmpty = true;
      for await (const page of pages) {
        next = page.next;
        if (page.jobs.length === 0) continue;
        isEmpty = false;
        await printer.print(
          json
            ? page.jobs.map((job) => toJsonLine(toJobJson(job, showContent)))
            : table.lines(page.jobs.map((job) => toRow(job, showContent))),
        );
      }
      if (isEmpty && !json) {
        const { unexpanded } = await readStats({ inbox: inboxPlace({ inbox, schema }, io.env), schema });
        io.stderr.write(unexpanded === 0 ? NONE : `${NONE}${toUnexpanded(unexpanded)}`);
      }
      if (next !== undefined) io.stderr.write(`There are more: --after ${next}, or a higher --limit.\n`);
      return EXIT.done;
    });
  },
});

const NONE = "There are no such jobs.\n";

const toUnexpanded = (count: number): string =>
  `Deliveries that are not made into jobs yet: ${grouped(count)}. A process that has called start() makes them.\n`;

const HEADS = ["ID", "STATE", "TYPE", "ACCOUNT", "CONSUMER", "TRIES", "RECEIVED (UTC)", "LAST ERROR"];

function toRow(job: Job, showContent: boolean): readonly string[] {
  const { id, state, event, consumer, attempts, receivedAt } = job;
  return [
    id,
    state,
    event.type,
    String(event.accountId ?? ""),
    toPlain(consumer ?? ""),
    String(attempts ?? ""),
    minuteText(receivedAt),
    errorText(job, showContent) ?? "",
  ];
}

function groupLines(groups: JobSummary["groups"], stream: Terminal): readonly string[] {
  const rows = groups.map(({ consumer = "", type, error = "", count, newestAt }) => [
    grouped(count),
    toPlain(consumer),
    type,
    newestAt === undefined ? "" : minuteText(newestAt),
    toPlain(error),
  ]);
  return createTable(["JOBS", "CONSUMER", "TYPE", "NEWEST (UTC)", "LAST ERROR"], stream).lines(rows);
}
