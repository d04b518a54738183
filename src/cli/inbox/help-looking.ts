import { CONTENT_FLAG, EXITS, FILE_FLAG, FILTERS, HELP_FLAG, JSON_FLAG } from "./help-parts.ts";

/** What `hookline inbox stats --help` prints. */
export const STATS_HELP = `Tell how much there is in an inbox, and how its file stands.

Usage: hookline inbox stats --inbox <file> [--json]

  waiting         Jobs that wait for their turn or their next attempt.
  running         Jobs whose handler runs, or is about to.
  unexpanded      Deliveries that are stored and not made into jobs yet.
  blocked lanes   Lanes whose first job waits for its next attempt.
  dead            Jobs that failed for good: list --state dead tells why.
  unhandled       Jobs whose event no handler takes.
  tombstones      Subscriptions that are answered 422.

Nothing is written, and a receiver on the file is not held up.

Flags:
${FILE_FLAG}
  --json          One line of JSON instead. Sizes in bytes.
${HELP_FLAG}

${EXITS}
`;

/** What `hookline inbox list --help` prints. */
export const LIST_HELP = `List jobs, a line each, in the order in which they were made.

Usage: hookline inbox list --inbox <file> [filters] [flags]

  hookline inbox list --inbox inbox.db --state dead --since 2d
  hookline inbox list --inbox inbox.db --account 2002 --json

Nothing is written, and a receiver on the file is not held up.

Filters, all of which must hold:
${FILTERS}

Flags:
${FILE_FLAG}
  --limit <n>     At most so many. Default: 50.
  --after <id>    Go on behind this job.
${JSON_FLAG}
${CONTENT_FLAG}
${HELP_FLAG}

${EXITS}
`;

/** What `hookline inbox show --help` prints. */
export const SHOW_HELP = `Show one job, with what is stored of its delivery.

Usage: hookline inbox show <id> --inbox <file> [flags]

Flags:
${FILE_FLAG}
${JSON_FLAG}
${CONTENT_FLAG}
${HELP_FLAG}

${EXITS}
`;

/** What `hookline inbox export --help` prints. */
export const EXPORT_HELP = `Print jobs with their deliveries, each as a line of JSON.

Usage: hookline inbox export --inbox <file> [filters] [--show-content]

  hookline inbox export --inbox inbox.db --show-content > jobs.jsonl
  hookline inbox export --inbox inbox.db --state dead --since 7d

With --show-content a line's delivery is as receiver.handle() takes it, and as
hookline explain reads it. Without filters all jobs are printed, done ones too.

Filters, all of which must hold:
${FILTERS}

Flags:
${FILE_FLAG}
${CONTENT_FLAG}
${HELP_FLAG}

${EXITS}
`;
