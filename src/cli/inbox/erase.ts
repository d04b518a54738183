import type { RequiredFlag } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { switchFlag } from "../flags.ts";
import { stoppable } from "./change-jobs.ts";
import { INBOX_FLAGS } from "./common-flags.ts";
import { NUMBER } from "./inbox-flags.ts";
import { ERASE_HELP } from "./help-changing.ts";
import { withInbox } from "./with-inbox.ts";
import { toJsonLine } from "../terminal/escape-terminal.ts";
import { tallyLines, tallyOf } from "./tally.ts";

const accountFlag: RequiredFlag<number> = { ...NUMBER, required: true };

/** `hookline inbox erase`: all that is stored of one account. */
export const eraseCommand = defineCommand({
  name: "inbox erase",
  summary: "Take away all jobs and deliveries of one account.",
  help: ERASE_HELP,
  flags: { account: accountFlag, ...INBOX_FLAGS, "dry-run": switchFlag },
  run({ account, inbox: file, json, "dry-run": dryRun }, io) {
    return withInbox({ file, io, use: dryRun ? "look" : "change" }, async ({ receiver, printer }) => {
      const found = await tallyOf(receiver.jobs, { accountId: account });
      if (!dryRun) await stoppable(io, receiver, () => receiver.jobs.erase(account));
      const count = found.reduce((sum, kind) => sum + kind.count, 0);
      const what = count === 0 ? "it had no jobs" : "its jobs, with their deliveries";
      await printer.print(
        json
          ? [toJsonLine({ dryRun, account, count, found })]
          : [`${dryRun ? "Would erase" : "Erased"} account ${account}: ${what}.`, ...tallyLines(found, io.stdout)],
      );
      return EXIT.done;
    });
  },
});
