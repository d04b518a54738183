import { BESIDE, CHANGE_EXITS, DRY_FLAG, FILE_FLAG, FILTERS, HELP_FLAG, JSON_FLAG } from "./help-parts.ts";

const SELECTION = `By a filter, which must name the state; all that is given must hold:
  --dead          Those that failed for good: --state dead.
${FILTERS}`;

/** What `hookline inbox replay --help` prints. */
export const REPLAY_HELP = `Have jobs handled once more: each becomes a new job at the tail of its lane.

Usage: hookline inbox replay <id>... --inbox <file> [flags]
       hookline inbox replay --dead --inbox <file> [filters] [flags]

  hookline inbox replay 17 21 --inbox inbox.db
  hookline inbox replay --dead --type email --since 2d --dry-run
  hookline inbox replay --state done --since 2h --rate 20

Takes jobs that are done, skipped, dead or unhandled and have a consumer; those
that wait or run are left. A dead one stops being dead.

${SELECTION}

Flags:
${FILE_FLAG}
${DRY_FLAG}
  --rate <n>      At most so many a second, such as 50 or 0.5.
${JSON_FLAG}
${HELP_FLAG}

${BESIDE} Ctrl-C stops it between two pages.

${CHANGE_EXITS}
`;

/** What `hookline inbox drop --help` prints. */
export const DROP_HELP = `Take jobs away, so that they are never handled. It does not ask: try --dry-run.

Usage: hookline inbox drop <id>... --inbox <file> [flags]
       hookline inbox drop --dead --inbox <file> [filters] [flags]

  hookline inbox drop 17 --inbox inbox.db
  hookline inbox drop --state dead,unhandled --until 2026-11-01 --dry-run

Takes jobs that wait, are dead or unhandled; a running one is left.

${SELECTION}

Flags:
${FILE_FLAG}
${DRY_FLAG}
${JSON_FLAG}
${HELP_FLAG}

${BESIDE}

${CHANGE_EXITS}
`;

/** What `hookline inbox erase --help` prints. */
export const ERASE_HELP = `Take away all that is stored of one account: every job and every delivery,
whatever their state. It does not ask: try --dry-run.

Usage: hookline inbox erase --account <n> --inbox <file> [flags]

Handlers that run for the account are told to stop. What is printed counts jobs;
deliveries that were not made into jobs yet go too.

Flags:
  --account <n>   Whose. Required.
${FILE_FLAG}
${DRY_FLAG}
${JSON_FLAG}
${HELP_FLAG}

${BESIDE}

${CHANGE_EXITS}
`;
