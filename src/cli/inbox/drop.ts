import { defineCommand } from "../command.ts";
import { switchFlag } from "../flags.ts";
import { change } from "./change.ts";
import { INBOX_FLAGS } from "./common-flags.ts";
import { SELECTION_FLAGS, toSelection } from "./filter-flags.ts";
import { DROP_HELP } from "./help-changing.ts";

/** `hookline inbox drop`: jobs that nobody is to handle. */
export const dropCommand = defineCommand({
  name: "inbox drop",
  summary: "Take jobs away that wait, are dead or unhandled.",
  help: DROP_HELP,
  flags: { ...SELECTION_FLAGS, ...INBOX_FLAGS, "dry-run": switchFlag },
  async run({ inbox: file, json, "dry-run": dryRun, ...values }, io) {
    const selection = toSelection(values, Date.now());
    return change(
      file,
      {
        verb: "drop",
        did: "Dropped",
        left: "running, done or skipped",
        selection,
        dryRun,
        json,
        run: (jobs, options) => jobs.drop(selection, options),
      },
      io,
    );
  },
});
