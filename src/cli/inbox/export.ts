import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { fileFlag, switchFlag } from "../flags.ts";
import { FILTER_FLAGS, toFilter } from "./inbox-flags.ts";
import { EXPORT_HELP } from "./help-looking.ts";
import { pagesOf } from "./read-jobs.ts";
import { withInbox } from "./with-inbox.ts";
import { toExportLine } from "./show.ts";

/** `hookline inbox export`: jobs with their deliveries as lines of JSON. */
export const exportCommand = defineCommand({
  name: "inbox export",
  summary: "Jobs with their deliveries, as lines of JSON.",
  help: EXPORT_HELP,
  flags: { inbox: fileFlag, ...FILTER_FLAGS, "show-content": switchFlag },
  run({ inbox: file, "show-content": showContent, ...filter }, io) {
    return withInbox({ file, io, use: "look" }, async ({ receiver: { jobs }, printer }) => {
      for await (const page of pagesOf(jobs, toFilter(filter, Date.now()), Infinity))
        for (const { id } of page.jobs) {
          const found = await jobs.get(id);
          // It may have gone since the page was read.
          if (found !== undefined) await printer.print([toExportLine(found, showContent)]);
        }
      return EXIT.done;
    });
  },
});
