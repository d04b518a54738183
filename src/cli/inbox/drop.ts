import { defineCommand } from "../command.ts";
import { change, CHANGE_FLAGS } from "./change-jobs.ts";
import { DROP_HELP } from "./help-changing.ts";

/** `hookline inbox drop`: jobs that nobody is to handle. */
export const dropCommand = defineCommand({
  name: "inbox drop",
  summary: "Take jobs away that wait, are dead or unhandled.",
  help: DROP_HELP,
  flags: CHANGE_FLAGS,
  run: (values, io) =>
    change(
      {
        verb: "drop",
        did: "Dropped",
        takes: ["waiting", "dead", "unhandled"],
        left: "running, done or skipped",
        run: (jobs, selection, options) => jobs.drop(selection, options),
      },
      values,
      io,
    ),
});
