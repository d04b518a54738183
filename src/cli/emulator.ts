import { setTimeout as sleep } from "node:timers/promises";
import type { Attempt, EmulatedAccount, Emulator } from "../emulator.ts";
import { isHooklineError } from "../index.ts";
import { defineCommand, EXIT, type Io } from "./command.ts";
import { APP_URL, oneOf, PORT, wholeNumber } from "./flags.ts";
import { listenForStop } from "./signals.ts";
import { milliseconds, secondText } from "./terminal/format.ts";

/** `hookline emulator`: the service on a local port. */
export const emulator = defineCommand({
  name: "emulator",
  summary: "Play the service on a local port: mailboxes and signed deliveries.",
  help: {
    usage: "hookline emulator [flags]\nhookline emulator load --to <url> --rate <n>",
    about: `Play the service on a local port: accounts, subscriptions, signed deliveries, and redeliveries until a receiver answers 200.

It prints its URL, the token of an account, the signing secret and requests to paste; then a line for each attempt to deliver. With --notify an
app that runs, or is started later, is subscribed to all of the account's resources, and a first message arrives.

The page at its URL shows accounts, subscriptions and every attempt, and lets you fail and recover them; /docs describes both APIs.
Everything is in memory.`,
    notes: `SIGNING_SECRET is the secret that it signs with, if it is set. Without it the secret follows from --seed.

It listens on this machine alone. Ctrl-C ends it.`,
  },
  flags: {
    port: { ...PORT, value: "<port>", about: "Where to listen; 0 takes a free port.", default: 8788 },
    seed: {
      ...wholeNumber(0, 999_999_999),
      value: "<n>",
      about: "What ids, tokens and the secret follow from: the same seed, the same ids.",
      default: 1,
    },
    notify: { ...APP_URL, value: "<url>", about: "The URL of your app's route, to be subscribed." },
    clock: {
      ...oneOf("real", "virtual"),
      value: "<clock>",
      about:
        "real follows this machine's clock. virtual begins now, and stands still until the page or POST /emulator/clock/advance moves it.",
      default: "real",
    },
    timestamp: {
      ...oneOf("kept", "renewed"),
      value: "<which>",
      about: "Whether a redelivery has the first attempt's timestamp and signature: kept, or renewed.",
      default: "kept",
    },
    "head-of-line": { about: "A delivery that is not acknowledged holds up the later ones of its subscription." },
    "give-up-after": {
      ...wholeNumber(1, 1_000_000),
      value: "<n>",
      about: "Attempts after which a delivery is dropped. Default: never.",
    },
    "allow-remote": {
      about: "Deliver to public addresses, too; otherwise to this machine and private networks alone.",
    },
  },
  async run(
    { port, seed, notify, clock, timestamp, "head-of-line": headOfLine, "give-up-after": giveUpAfter, ...flags },
    io,
  ) {
    // Loaded only here: no other command needs it.
    const { createEmulator } = await import("../emulator.ts");
    const stopListener = listenForStop(io);
    const stop = new AbortController();
    const service = await createEmulator({
      port,
      seed,
      secret: io.env["SIGNING_SECRET"],
      clock,
      startAt: new Date(),
      redelivery: { timestamp, headOfLine, giveUpAfter },
      allowRemote: flags["allow-remote"],
      onAttempt: (attempt) => io.stdout.write(attemptLine(attempt)),
    });
    try {
      const account = await service.account();
      io.stdout.write(greeting(service, account, notify));
      if (notify !== undefined) void subscribeAll(service, { account, notify, io, signal: stop.signal });
      await stopListener.asked;
    } finally {
      stop.abort();
      stopListener.remove();
      await service.close();
    }
    return EXIT.done;
  },
});

/** What an account can be asked about. Bookings have a page of their own each. @see protocol 6.1 */
const RESOURCES = [
  "/email/messages",
  "/email/tracking",
  "/calendars/primary/events",
  "/contacts",
  "/tasklists/default/tasks",
];

const RETRY_MS = 1_000;

/** Until the app answers the handshake: it may be started later. */
async function subscribeAll(
  service: Emulator,
  {
    account,
    notify,
    io,
    signal,
  }: { readonly account: EmulatedAccount; readonly notify: string; readonly io: Io; readonly signal: AbortSignal },
): Promise<void> {
  let told = "";
  for (const resource of RESOURCES) {
    for (;;) {
      try {
        const id = await service.subscribe(account, resource, notify);
        io.stdout.write(`subscription ${id}: ${resource}\n`);
        break;
      } catch (error) {
        if (signal.aborted) return;
        const cause = isHooklineError(error) ? error.message : String(error);
        // The same cause, such as an app that is not started, is told once.
        const gist = cause.replaceAll(/[\da-f]{8}-\S+/g, "");
        if (gist !== told) io.stderr.write(`not subscribed yet: ${cause}\n`);
        told = gist;
        await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }
  await account.receiveMail();
}

function greeting(
  { url, secret, clock }: Emulator,
  { accountId, token }: EmulatedAccount,
  notify: string | undefined,
): string {
  const json = `-H 'Content-Type: application/json'`;
  const noon = `${new Date(clock.now()).toISOString().slice(0, "2026-01-02".length)}T12:`;
  const times = `"start":{"dateTime":"${noon}00:00Z"},"end":{"dateTime":"${noon}30:00Z"}`;
  const target = notify ?? "http://127.0.0.1:3000/webhooks";
  return `The emulator is at ${url}, for a browser, too.

  account  ${accountId}
  token    ${token}
  secret   ${secret}

Subscribe your app to messages, let one arrive, make a calendar event:

  curl -X POST ${url}/v1/subscriptions -H 'Authorization: Bearer ${token}' ${json} -d '{"resource":"/email/messages","notificationUrl":"${target}"}'
  curl -X POST ${url}/emulator/accounts/${accountId}/mail ${json} -d '{"subject":"Hello"}'
  curl -X POST ${url}/v1/calendars/primary/events -H 'Authorization: Bearer ${token}' ${json} -d '{"subject":"Review",${times}}'

The API's reference is at ${url}/docs.

`;
}

function attemptLine({ at, subscription, attempt, status, failure, outcome, body, durationMs }: Attempt): string {
  const { resource, payloads, lifecycleEvent } = JSON.parse(body) as {
    readonly resource: string;
    readonly payloads?: readonly {
      readonly id?: string | number;
      readonly changeType?: string;
      readonly eventType?: string;
    }[];
    readonly lifecycleEvent?: string;
  };
  const [first] = payloads ?? [];
  const more = (payloads?.length ?? 0) > 1 ? ` and ${(payloads?.length ?? 0) - 1} more` : "";
  const what = lifecycleEvent ?? `${first?.changeType ?? first?.eventType ?? ""} ${first?.id ?? ""}${more}`;
  const answer = status === undefined ? `no answer (${failure})` : `${status} in ${milliseconds(durationMs)}`;
  return `${secondText(at)}  ${subscription} ${resource} ${what.trim()}, attempt ${attempt}: ${answer}, ${outcome}\n`;
}
