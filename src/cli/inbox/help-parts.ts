import { WRONG_USAGE } from "../help.ts";

/** Flags that all commands on an inbox have. */
export const FILE_FLAG = `  --inbox <file>  The file that the receiver was given in sqliteInbox(file).
                  Default: what HOOKLINE_INBOX says.`;

export const JSON_FLAG = `  --json          Lines of JSON instead of a table, for scripts.`;

export const CONTENT_FLAG = `  --show-content  Show the content too: ids of mail, addresses, bodies. Without
                  it they are left out, in the messages of errors as well.`;

export const DRY_FLAG = "  --dry-run       Only tell what it would do.";

export const HELP_FLAG = "  -h, --help      Print this.";

/** Which jobs. */
export const FILTERS = `  --state <s>     waiting, running, done, skipped, dead or unhandled; several
                  with commas between them.
  --type <t>      The name of an event or a family: email.created, email, "*".
  --account <n>   Of this account.
  --subscription <n>
                  Of this subscription.
  --consumer <c>  Of this consumer.
  --since <t>     Received since then: so long ago (30m, 2h, 7d), a date
                  (2026-11-20), or a date and time (2026-11-20T14:30Z). UTC
                  where no zone is given.
  --until <t>     Received before then.`;

export const EXITS = `Exit codes:
  0  Done.
  1  Failed: what happened is on stderr.
${WRONG_USAGE}`;

export const CHANGE_EXITS = `Exit codes:
  0  Done.
  1  Failed, or not all that were named: what happened is on stderr.
${WRONG_USAGE}
  3  The process that works on the file did not answer in time. It is queued in
     the file and will be done: do not ask again. Its number is on stderr.`;

/** How a change reaches a file that is worked on. */
export const BESIDE = `A receiver may run on the file: the process that works carries it out. Where
none works it is done at once.`;
