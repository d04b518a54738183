import { WRONG_USAGE } from "../help.ts";

/** What `hookline send --help` prints. */
export const SEND_HELP = `Send a signed delivery as the service does, and tell what the answer means.

Usage: SIGNING_SECRET=<secret> hookline send <name> --to <url> [flags]

  hookline send email.created --to http://localhost:3000/webhooks
  hookline send booking --to http://localhost:3000/webhooks --count 1000
  hookline send handshake --to https://example.com/webhooks

Names:
  email.created  email.updated  email.deleted  email.signal  email.changes
  and the same of contact, calendarEvent and task
  tracking.open  tracking.click  tracking.reply  tracking.replyBounce
  tracking.initial
  booking
  lifecycle.error  lifecycle.active
  unknown    Signed, but of no known resource.
  handshake  The question for a token that comes before a subscription is made.
             The answer must be status 200, content type text/plain, and
             exactly the token as body.

One request prints its status, its latency (connecting included) and what the
status means: 200 acknowledges, 422 deletes the subscription, anything else is
redelivered. Several print a table of statuses and latencies. A redirect is not
followed, and after 10 seconds without an answer a request is given up.

Flags:
  --to <url>         Where to send it. Required.
  --data <json>      Fields of the event instead of the made-up ones, such as
                     '{"accountId":7}'. Of unknown: fields of the body.
  --count <n>        How many; each is another delivery. Default: 1.
                     From the second on each is about another record: m-1,
                     m-1-2, m-1-3 where its id is text, 701, 1701, 2701 where it
                     is a number. The trackingId of tracking and the eventId of
                     booking vary too. Signals and lifecycle have no record.
  --rate <n>         At most so many a second, such as 50 or 0.5.
                     Default: as fast as the concurrency allows.
  --concurrency <n>  At most so many at once. Default: 10.
  -h, --help         Print this.

Tracking and bookings that come again are handled once, so a second run does
nothing new: give them another id or eventId with --data.

Environment:
  SIGNING_SECRET     The signing secret that the receiver has. Required.
  NO_COLOR           Set it for an output without colours on a terminal.

Ctrl-C ends it and prints what became of those that were sent.

Exit codes:
  0  Every request was answered 200, or the handshake as it must be.
  1  One was not, or it was stopped: what happened is on stdout.
${WRONG_USAGE}
`;
