import { CONTENT_FLAG, EXITS, FILE_FLAG, HELP_FLAG, JSON_FLAG } from "./help-parts.ts";

/** What `hookline inbox tombstones list --help` prints. */
export const TOMBSTONES_HELP = `List the subscriptions that are unwanted: their deliveries are answered 422,
which makes the service delete them.

Usage: hookline inbox tombstones [list] --inbox <file> [flags]

A tombstone goes by itself 30 days after its last hit.

Flags:
${FILE_FLAG}
${JSON_FLAG}
${CONTENT_FLAG}
${HELP_FLAG}

${EXITS}
`;

/** What `hookline inbox tombstones lift --help` prints. */
export const LIFT_HELP = `Want a subscription again: its deliveries are stored and handled from now on.

Usage: hookline inbox tombstones lift <subscription> --inbox <file> [flags]

A receiver that runs on the file heeds it within a second.

Flags:
${FILE_FLAG}
  --source <s>    Only the tombstone of this source. Default: all of them.
${JSON_FLAG}
${HELP_FLAG}

${EXITS}
`;
