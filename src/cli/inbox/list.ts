import type { Job } from "../../index.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { wholeFlag } from "../flags.ts";
import { SHOW_FLAGS } from "./common-flags.ts";
import { FILTER_FLAGS, NUMBER, toFilter } from "./inbox-flags.ts";
import { LIST_HELP } from "./help-looking.ts";
import { minuteText } from "./time-flag.ts";
import { withInbox } from "./with-inbox.ts";
import { pagesOf } from "./read-jobs.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { createTable } from "../terminal/table.ts";
import { hide, toView } from "./job-json.ts";

/** `hookline inbox list`: jobs, a line each. */
export const listCommand = defineCommand({
  name: "inbox list",
  summary: "Jobs, a line each, oldest first.",
  help: LIST_HELP,
  flags: {
    ...SHOW_FLAGS,
    ...FILTER_FLAGS,
    limit: wholeFlag(1, 1_000_000, 50),
    after: { ...NUMBER, default: undefined },
  },
  run({ inbox: file, json, "show-content": showContent, limit, after, ...filter }, io) {
    return withInbox({ file, io, use: "look" }, async ({ receiver, printer }) => {
      const table = createTable(HEADS, io.stdout);
      const from = after === undefined ? undefined : String(after);
      const pages = pagesOf(receiver.jobs, { ...toFilter(filter, Date.now()), after: from }, limit);
      let next: string | undefined;
      let none = true;
      for await (const page of pages) {
        next = page.next;
        if (page.jobs.length === 0) continue;
        none = false;
        await printer.print(
          json
            ? page.jobs.map((job) => toJsonLine(toView(job, showContent)))
            : table.lines(page.jobs.map((job) => rowOf(job, showContent))),
        );
      }
      if (none && !json) io.stderr.write("There are no such jobs.\n");
      if (next !== undefined) io.stderr.write(`There are more: --after ${next}, or a higher --limit.\n`);
      return EXIT.done;
    });
  },
});

const HEADS = ["ID", "STATE", "TYPE", "ACCOUNT", "CONSUMER", "TRIES", "RECEIVED (UTC)", "LAST ERROR"];

function rowOf(job: Job, showContent: boolean): readonly string[] {
  const { id, state, event, consumer, attempts, receivedAt, lastError } = job;
  return [
    id,
    state,
    event.type,
    String(event.accountId ?? ""),
    toPlain(consumer ?? ""),
    String(attempts ?? ""),
    minuteText(receivedAt),
    lastError === undefined ? "" : errorText(lastError, showContent ? undefined : job),
  ];
}

/** @param hidden its event's content is stored out of the message */
export function errorText({ name, message }: NonNullable<Job["lastError"]>, hidden: Job | undefined): string {
  return toPlain(`${name}: ${hidden === undefined ? message : hide(message, hidden.event)}`);
}
