import { setMaxListeners } from "node:events";
import { signedDelivery } from "../testing.ts";
import type { RequiredFlag, ValueFlag } from "./arguments.ts";
import { CommandError } from "./command-error.ts";
import { defineCommand, type Io } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { rateFlag, urlFlag, wholeFlag } from "./flags.ts";
import { secretOf } from "./secret.ts";
import { composer, type Data } from "./send/compose-events.ts";
import { SEND_NAMES, type SendName } from "./send/fields.ts";
import { makeToken } from "./answers/handshake-flaws.ts";
import { SEND_HELP } from "./send/help.ts";
import { sendMany, type Plan } from "./send/send-requests.ts";
import { post, type Outcome } from "./send/post.ts";
import { showProgress } from "./send/progress.ts";
import { reportHandshake, reportOne } from "./send/report.ts";
import { reportMany } from "./send/send-report.ts";
import { createCounter } from "./send/tally.ts";
import { grouped, perSecond } from "./terminal/format.ts";
import { listenForStop } from "./signals.ts";

const nameArgument: RequiredFlag<SendName> & { readonly argument: string } = {
  argument: "NAME",
  expects: `one of ${SEND_NAMES.join(", ")}`,
  read: (text) => SEND_NAMES.find((name) => name === text),
  required: true,
};

const dataFlag: ValueFlag<Data | undefined> = {
  expects: `a JSON object with fields of the event, such as {"accountId":7}`,
  read: toData,
  default: undefined,
};

/** `hookline send`: plays the service towards a receiver. */
export const send = defineCommand({
  name: "send",
  summary: "Send a signed sample of any event, or the handshake, to a URL.",
  help: SEND_HELP,
  flags: {
    name: nameArgument,
    to: urlFlag,
    data: dataFlag,
    count: wholeFlag(1, 1_000_000, 1),
    rate: rateFlag,
    concurrency: wholeFlag(1, 1_000, 10),
  },
  async run({ name, to, data, count, rate, concurrency }, io) {
    const signing = { secret: secretOf(io.env), url: to };
    if (name === "handshake") {
      assertPlain({ data, count });
      const token = makeToken();
      const outcome = await stoppable(io, (stop) => post(signedDelivery({ validationToken: token }, signing), stop));
      return reportHandshake(outcome, token, io.stdout) ? EXIT.done : EXIT.failed;
    }
    const compose = composer(name, data ?? {});
    // Signed when it is sent: a long run must not send what was signed long ago.
    const sendOne = (nth: number, stop: AbortSignal): Promise<Outcome> =>
      post(signedDelivery(compose(nth), signing), stop);
    if (count === 1) {
      const outcome = await stoppable(io, (stop) => sendOne(1, stop));
      return reportOne(outcome, io.stdout) ? EXIT.done : EXIT.failed;
    }
    return (await sendAll({ count, rate, concurrency }, sendOne, io)) ? EXIT.done : EXIT.failed;
  },
});

/** Whether all of them were answered 200. */
async function sendAll(
  plan: Plan,
  sendOne: (nth: number, stop: AbortSignal) => Promise<Outcome>,
  io: Io,
): Promise<boolean> {
  const { count } = plan;
  const counter = createCounter();
  const begin = performance.now();
  const hideProgress = showProgress(io.stderr, () => {
    const { sent, bad } = counter.so();
    const rate = perSecond(sent, performance.now() - begin);
    return `${grouped(sent)} of ${grouped(count)} sent, ${rate}, ${grouped(bad)} not acknowledged`;
  });
  await stoppable(io, (stop) => sendMany(plan, async (nth) => counter.add(await sendOne(nth, stop)), stop)).finally(
    hideProgress,
  );
  reportMany(counter.total(), { count, ms: performance.now() - begin }, io.stdout);
  const { sent, bad } = counter.so();
  return sent === count && bad === 0;
}

/** Ctrl-C ends what is on its way, so that there is a report; a second one ends the process. */
async function stoppable<T>(io: Io, run: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  // Every request in flight listens, and that is no leak.
  setMaxListeners(0, stop.signal);
  const stopping = listenForStop(io);
  void stopping.asked.then(() => stop.abort());
  try {
    return await run(stop.signal);
  } finally {
    stopping.forget();
  }
}

function toData(text: string): Data | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Data) : undefined;
  } catch {
    return undefined;
  }
}

function assertPlain({ data, count }: { readonly data: Data | undefined; readonly count: number }): void {
  if (data === undefined && count === 1) return;
  const flag = data === undefined ? "--count" : "--data";
  throw new CommandError(EXIT.usage, `${flag} does not go with handshake, which is one request without fields.`);
}
