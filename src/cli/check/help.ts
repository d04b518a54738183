import { WRONG_USAGE } from "../help.ts";

/** What `hookline check --help` prints. */
export const CHECK_HELP = `Ask a running app whether it answers as a receiver must, whatever it is made of.

Usage: SIGNING_SECRET=<secret> hookline check --to <url> [flags]

  hookline check --to http://localhost:3000/webhooks
  hookline check --to https://example.com/webhooks --account 7 --json

It sends a delivery, the verification handshake, a forged and a stale one, one
without a signature, bodies that are not JSON or of an unknown shape, long ones,
a GET, and other content types. A table tells what each should get and what it
got; below it stands the likely cause of what is wrong, and the fix.

The handlers of the app see what it accepts: the deletion of a message
"hookline-check" that never was, sent as several content types and once with
150 kB, and two bodies about a resource "/hookline-check".

Flags:
  --to <url>          Where to send it. Required.
  --account <n>       Whose deliveries they pretend to be, where the app refuses
                      those of accounts that it does not know. Default: 0.
  --subscription <n>  And of which subscription. Default: 0.
  --max-body <bytes>  The app's own limit of a body: one byte more must be
                      refused. Default: 1048576.
  --json              A line of JSON for each, for scripts.
  -h, --help          Print this.

Environment:
  SIGNING_SECRET      The signing secret that the app has. Required.
  NO_COLOR            Set it for an output without colours on a terminal.

A redirect is not followed, and after 10 seconds without an answer a request is
given up. Ctrl-C ends it and prints what was found so far.

Exit codes:
  0  Every answer is as it should be.
  1  One is not, or it was stopped: what is wrong is on stdout.
${WRONG_USAGE}
`;
