import { defineCommand } from "../command.ts";
import { rateFlag, switchFlag } from "../flags.ts";
import { change } from "./change.ts";
import { INBOX_FLAGS } from "./common-flags.ts";
import { SELECTION_FLAGS, toSelection } from "./filter-flags.ts";
import { REPLAY_HELP } from "./help-changing.ts";

/** `hookline inbox replay`: jobs once more. */
export const replayCommand = defineCommand({
  name: "inbox replay",
  summary: "Handle jobs once more: by id, all dead ones, or by a filter.",
  help: REPLAY_HELP,
  flags: { ...SELECTION_FLAGS, ...INBOX_FLAGS, "dry-run": switchFlag, rate: rateFlag },
  async run({ inbox: file, json, "dry-run": dryRun, rate: perSecond, ...values }, io) {
    const selection = toSelection(values, Date.now());
    return change(
      file,
      {
        verb: "replay",
        did: "Replayed",
        left: "waiting, running, or of no consumer",
        selection,
        dryRun,
        json,
        run: (jobs, options) => jobs.replay(selection, { ...options, perSecond }),
      },
      io,
    );
  },
});
