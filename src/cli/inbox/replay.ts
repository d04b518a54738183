import { defineCommand } from "../command.ts";
import { rateFlag } from "../flags.ts";
import { change, CHANGE_FLAGS } from "./change-jobs.ts";
import { REPLAY_HELP } from "./help-changing.ts";

/** `hookline inbox replay`: jobs once more. */
export const replayCommand = defineCommand({
  name: "inbox replay",
  summary: "Handle jobs once more: by id, all dead ones, or by a filter.",
  help: REPLAY_HELP,
  flags: { ...CHANGE_FLAGS, rate: rateFlag },
  run: ({ rate: perSecond, ...values }, io) =>
    change(
      {
        verb: "replay",
        did: "Replayed",
        takes: ["done", "skipped", "dead", "unhandled"],
        left: "waiting, running, or of no consumer",
        run: (jobs, selection, options) => jobs.replay(selection, { ...options, perSecond }),
      },
      values,
      io,
    ),
});
