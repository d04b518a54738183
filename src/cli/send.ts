import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { resolve } from "node:path";
import { signedDelivery } from "../testing.ts";
import { CommandError, defineCommand, EXIT, secretOf, type Io } from "./command.ts";
import { APP_URL, nonEmpty, RATE, wholeNumber, type ValueType } from "./flags.ts";
import { eventComposer, SEND_NAMES, type Data, type SendName } from "./send/compose-events.ts";
import { createOutcomeCounts, reportHandshake, reportMany, reportOne } from "./send/send-report.ts";
import { readCaptured } from "./send/read-captured.ts";
import { post, sendMany, type Outcome, type SendPlan } from "./send/send-requests.ts";
import { stoppable } from "./signals.ts";
import { grouped, perSecond } from "./terminal/format.ts";
import { showLiveLine } from "./terminal/live-line.ts";

const sendName: ValueType<SendName> = {
  expects: `one of ${SEND_NAMES.join(", ")}`,
  read: (text) => SEND_NAMES.find((name) => name === text),
};

const jsonObject: ValueType<Data> = {
  expects: `a JSON object with fields of the event, such as {"accountId":7}`,
  read(text) {
    try {
      const json: unknown = JSON.parse(text);
      return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Data) : undefined;
    } catch {
      return undefined;
    }
  },
};

/** `hookline send`: sends what the service sends. */
export const send = defineCommand({
  name: "send",
  summary: "Send a signed sample of any event, or the handshake, to a URL.",
  help: {
    usage: `SIGNING_SECRET=<secret> hookline send <name> --to <url> [flags]
SIGNING_SECRET=<secret> hookline send --from <file> --to <url> [flags]`,
    about: `Send a signed delivery as the service does, and tell what the answer means.

  hookline send email.created --to http://localhost:3000/webhooks
  hookline send booking --to http://localhost:3000/webhooks --count 1000
  hookline send handshake --to https://example.com/webhooks
  hookline send --from captured.jsonl --to http://localhost:3000/webhooks

Names:
  email.created  email.updated  email.deleted  email.signal  email.changes
  and the same of contact, calendarEvent and task
  tracking.open  tracking.click  tracking.reply  tracking.replyBounce
  tracking.initial
  booking
  lifecycle.error  lifecycle.active
  unknown    Signed, but of no known resource.
  handshake  The verification that precedes a subscription. The answer must be
             status 200, content type text/plain, and exactly the token as body.

With --from it sends what hookline dev --capture or hookline inbox export --show-content has written: each body unchanged, signed anew with the present time, one
after the other in the order of the file. A delivery that several lines have is sent once. Lines without a body are skipped and counted.

One request prints its status, its latency (connecting included) and what the status means: 200 acknowledges, 422
deletes the subscription, anything else is redelivered. Several print a table of statuses and latencies. Redirects are
not followed, and after 10 seconds without an answer a request is given up.`,
    notes: `Tracking events and bookings with a known id are handled once, so a second run does nothing new: give them another
id or eventId with --data.

Ctrl-C ends it and prints the outcome of the requests so far.`,
    secretOf: "the receiver",
    exits: {
      [EXIT.done]: "Every request was answered 200, or the handshake was right.",
      [EXIT.failed]: "One was not, or it was stopped: stdout says what happened.",
    },
  },
  flags: {
    name: { ...sendName, argument: "NAME" },
    to: { ...APP_URL, value: "<url>", about: "The URL of the app's route.", required: true },
    from: { ...nonEmpty("the path of a file"), value: "<file>", about: "Send the deliveries of a file instead." },
    only: { ...sendName, value: "<name>", about: "Of --from: only deliveries that have an event of this name." },
    data: {
      ...jsonObject,
      value: "<json>",
      about: `Fields of the event instead of the made-up ones, such as '{"accountId":7}'. Of unknown: fields of the body.`,
    },
    count: {
      ...wholeNumber(1, 1_000_000),
      value: "<n>",
      about:
        "How many deliveries. From the second on each is about another record: m-1, m-1-2, m-1-3 where its id is text, 701, 1701, 2701 where it is a number. The trackingId of tracking and the eventId of booking vary too. Signals and lifecycle have no record.",
      default: 1,
    },
    rate: {
      ...RATE,
      value: "<n>",
      about: "At most so many a second, such as 50 or 0.5. Default: as fast as the concurrency allows.",
    },
    "per-second": { ...RATE, value: "<n>", about: "The same as --rate." },
    concurrency: { ...wholeNumber(1, 1_000), value: "<n>", about: "At most so many samples at once.", default: 10 },
  },
  async run({ name, to, from, only, data, count, concurrency, ...speed }, io) {
    const rate = speed.rate ?? speed["per-second"];
    if ((name === undefined) === (from === undefined)) {
      const got = name === undefined ? "NAME is missing" : `Got ${name} and --from`;
      throw new CommandError(EXIT.usage, `${got}, expected ${sendName.expects}, or --from with a file.`);
    }
    const signing = { secret: secretOf(io.env), url: to };
    if (name === undefined) {
      const { bodies, withoutBody, notWanted } = await readCaptured(resolve(io.cwd ?? ".", from ?? ""), only);
      io.stdout.write(`skipped: ${withoutBody} lines without a body, ${notWanted} deliveries without --only\n`);
      const sendOne: SendOne = (nth, stop) => post(signedDelivery({ wire: bodies[nth - 1] as Buffer }, signing), stop);
      // One after the other, in their order.
      return (await sendAll({ count: bodies.length, rate, concurrency: 1 }, sendOne, io)) ? EXIT.done : EXIT.failed;
    }
    if (name === "handshake") {
      if (data !== undefined || count > 1)
        throw new CommandError(
          EXIT.usage,
          `${data === undefined ? "--count" : "--data"} does not go with handshake, which is one request without fields.`,
        );
      // Like the service's: a colon and a plus come back only from a receiver that decodes the query.
      const token = `${randomUUID()}_${new Date().toISOString().replace("Z", "+00:00")}`;
      const delivery = signedDelivery({ validationToken: token }, signing);
      const outcome = await withStopSignal(io, (stop) => post(delivery, stop));
      return reportHandshake(outcome, token, io.stdout) ? EXIT.done : EXIT.failed;
    }
    const compose = eventComposer(name, data ?? {});
    // Signed when it is sent: in a long run an early signature would be old.
    const sendOne: SendOne = (nth, stop) => post(signedDelivery(compose(nth), signing), stop);
    const isAcknowledged =
      count === 1
        ? reportOne(await withStopSignal(io, (stop) => sendOne(1, stop)), io.stdout)
        : await sendAll({ count, rate, concurrency }, sendOne, io);
    return isAcknowledged ? EXIT.done : EXIT.failed;
  },
});

type SendOne = (nth: number, stop: AbortSignal) => Promise<Outcome>;

/** @returns whether all were answered 200 */
async function sendAll(plan: SendPlan, sendOne: SendOne, io: Io): Promise<boolean> {
  const { count } = plan;
  const counts = createOutcomeCounts();
  const begin = performance.now();
  const progress = showLiveLine(io.stderr, () => {
    const speed = perSecond(counts.sent(), performance.now() - begin);
    return `${grouped(counts.sent())} of ${grouped(count)} sent, ${speed}, ${grouped(counts.unacknowledged())} not acknowledged`;
  });
  await withStopSignal(io, (stop) => sendMany(plan, async (nth) => counts.add(await sendOne(nth, stop)), stop)).finally(
    progress.remove,
  );
  reportMany(counts, { count, ms: performance.now() - begin }, io.stdout);
  return counts.sent() === count && counts.unacknowledged() === 0;
}

/** Ctrl-C aborts the requests in flight, so that there is a report. */
async function withStopSignal<T>(io: Io, run: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  // Every request in flight listens: that is no leak.
  setMaxListeners(0, stop.signal);
  return stoppable(
    io,
    () => stop.abort(),
    () => run(stop.signal),
  );
}
