import { WRONG_USAGE } from "../help.ts";

/** What `hookline explain --help` prints. */
export const EXPLAIN_HELP = `Tell why the signature of a captured request does not hold, and what to change.

Usage: SIGNING_SECRET=<secret> hookline explain [<file>]

  hookline explain captured.txt
  pbpaste | hookline explain

The request comes from a file, or from stdin where there is none or it is "-".
It is written in one of these forms, which it tells apart by itself:

  raw HTTP  The request line, the headers, a blank line, the body; as an
            inspector shows it, or "nc -l 3000 > captured.txt" keeps it.
  JSON      {"headers":{...},"body":"..."}, with "bodyBase64" instead of "body"
            for exact bytes, and "method" and "url" if you like. A delivery as
            Hookline hands it to a queue of yours is such JSON.

It prints which known mistake explains the signature, with the fix: a body that
was parsed and written again, white space at its ends, a secret with spaces,
quotes or decoded, base64 for hex, a signature of the body alone, milliseconds,
a clock that is wrong. It prints neither the secret nor a signature.

A paste into a terminal or an editor may add a newline to the body, and a
terminal cuts lines of over 4,095 bytes: a file, or JSON with bodyBase64, keeps
each byte.

Flags:
  -h, --help      Print this.

Environment:
  SIGNING_SECRET  The signing secret of the application. Required.
  NO_COLOR        Set it for an output without colours on a terminal.

Exit codes:
  0  The signature is right, and neither too old nor from the future.
  1  A mistake was found: it is on stdout.
${WRONG_USAGE}
     The same for a request that cannot be read.
`;
