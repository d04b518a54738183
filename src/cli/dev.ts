import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Client } from "../client.ts";
import type { EmulatedAccount, Emulator } from "../emulator.ts";
import { signedDelivery } from "../testing.ts";
import { handshakeFlaws } from "./answers/handshake-flaws.ts";
import type { ValuesOf } from "./arguments.ts";
import { CommandError, defineCommand, EXIT, secretOf, type Io } from "./command.ts";
import { askRun, followTunnel } from "./dev/follow-tunnel.ts";
import { createOwnSubscriptions } from "./dev/own-subscriptions.ts";
import { createPassThrough, OWN_TOKEN } from "./dev/pass-through.ts";
import { createReport } from "./dev/report.ts";
import { createChildren } from "./dev/children.ts";
import { APP_URL, ID_NUMBER, nonEmpty, PORT, RESOURCE } from "./flags.ts";
import { post } from "./send/send-requests.ts";
import { listen } from "./serve/listen.ts";
import { listenForStop } from "./signals.ts";
import { ACCOUNT_FLAGS, accountClient } from "./subscriptions/account-client.ts";
import { toPlain } from "./terminal/escape-terminal.ts";

const FLAGS = {
  to: { ...APP_URL, value: "<url>", about: "The URL of the app's route on this machine.", required: true },
  account: { ...ID_NUMBER, value: "<id>", about: "The account of the token. Required, but for --emulator." },
  resource: {
    ...RESOURCE,
    value: "<path>",
    about: "A resource to subscribe; may be given several times. Default: /email/messages.",
    many: true,
  },
  url: { ...APP_URL, value: "<url>", about: "A public URL that leads to the port of this command." },
  tunnel: { ...nonEmpty("a command"), value: "<command>", about: "Start a tunnel to {port}, and take its URL." },
  ngrok: { about: "Start ngrok as the tunnel. It must be installed and signed in." },
  emulator: { about: "Take the emulator as the service: no account, no token and no tunnel are needed." },
  capture: { ...nonEmpty("a path"), value: "<file>", about: "Append each delivery to this file, as a line of JSON." },
  hold: { about: "Answer 200 after --capture, and repeat to the app after 1, 2, 4 ... 30 s until it answers 200." },
  "allow-unsubscribe": { about: "Let a 422 of the app delete the subscription. Otherwise it goes on as 503." },
  yes: { about: "Work on an account that has more than 20 subscriptions." },
  port: { ...PORT, value: "<port>", about: "Where to listen on 127.0.0.1; 0 takes a free port.", default: 8789 },
  ...ACCOUNT_FLAGS,
  json: { about: "Print a line of JSON for each delivery." },
  app: { ...nonEmpty("a command"), argument: "COMMAND", many: true },
} as const;

/** `hookline dev`: the service on a developer's machine. */
export const dev = defineCommand({
  name: "dev",
  summary: "Pass the service's deliveries to an app on this machine.",
  help: {
    usage: `hookline dev --to <url> --emulator [flags] [-- <command>]
hookline dev --to <url> --account <id> --tunnel <command> [flags]`,
    about: `Pass the service's deliveries to an app on this machine, and print a line for each.

  hookline dev --to http://127.0.0.1:3000/webhooks --emulator -- node app.ts
  hookline dev --to http://127.0.0.1:3000/webhooks --account 2002 \\
    --tunnel "cloudflared tunnel --url http://127.0.0.1:{port}"

It makes the subscriptions when the app answers the verification request, and removes them at its end. The ids are in .hookline/dev.json: the next
start in the same folder removes what a killed run has left, and only that.

A command behind -- is started as the app, with SIGNING_SECRET in its environment, and ends with this one; its output goes to stderr. When it
ends by itself, its exit code is the code of this command.`,
    environment: [
      ["ACCESS_TOKEN", "The access token of the account. Required, but for --emulator."],
      ["SIGNING_SECRET", "The signing secret of the application. Required, but for --emulator."],
    ],
    exits: { [EXIT.failed]: "Failed: stderr says why. A code of the app is passed on." },
  },
  flags: FLAGS,
  async run(values, io) {
    assertFlags(values);
    const service = await openService(values, io);
    try {
      return await runDev(values, io, service);
    } finally {
      await service.emulator?.close();
    }
  },
});

type Values = ValuesOf<typeof FLAGS>;

/** @throws CommandError for flags that are missing or do not go together */
function assertFlags({ account, url, tunnel, ngrok, emulator, hold, capture }: Values): void {
  const ways = Object.entries({ emulator, url, tunnel, ngrok }).filter(([, value]) => Boolean(value));
  const given = ways.map(([name]) => `--${name}`).join(" and ") || "no way from the service to this machine";
  const wrong = [
    ways.length !== 1 &&
      `Got ${given}, expected one of --emulator, --url, --tunnel and --ngrok. --emulator needs nothing else.`,
    !emulator && account === undefined && `--account is missing, expected ${ID_NUMBER.expects}.`,
    hold && capture === undefined && "--hold needs --capture: a delivery is answered 200 when it is in that file.",
  ].find((message) => message !== false);
  if (wrong !== undefined) throw new CommandError(EXIT.usage, wrong);
}

const TOKEN_HINT =
  " The service's dashboard shows one for an account that you have connected; authorising an account gives one, too. Without any, --emulator plays the service.";

/** The account at the service, or at an emulator in this process. */
interface Service {
  readonly client: Client;
  readonly secret: string;
  readonly account: number;
  readonly emulator?: Emulator;
  readonly mailbox?: EmulatedAccount;
}

async function openService({ emulator: isEmulated, api, account = 0 }: Values, { env }: Io): Promise<Service> {
  if (!isEmulated) return { client: accountClient(env, api, TOKEN_HINT), secret: secretOf(env), account };
  // Loaded only here, as of all else that it needs.
  const { createEmulator } = await import("../emulator.ts");
  const emulator = await createEmulator({ secret: env["SIGNING_SECRET"] || undefined });
  const mailbox = await emulator.account();
  const client = createClient({ token: mailbox.token, baseUrl: emulator.url });
  return { client, secret: emulator.secret, account: mailbox.accountId, emulator, mailbox };
}

/** @returns the exit code */
async function runDev(values: Values, io: Io, service: Service): Promise<number> {
  const { client, secret, account, emulator, mailbox } = service;
  const { hold, capture, app } = values;
  const to = new URL(values.to);
  const run = randomUUID();
  const stop = new AbortController();
  const { signal } = stop;
  const report = createReport(io, values.json, () => passThrough.waiting());
  const { note } = report;
  const passThrough = createPassThrough({
    to,
    secret,
    run,
    signal,
    hold,
    note,
    allowUnsubscribe: values["allow-unsubscribe"],
    capture: capture && resolve(io.cwd ?? ".", capture),
    onPassed: report.passed,
  });
  const server = await listen(passThrough.listener, { host: "127.0.0.1", port: values.port });
  const port = Number(new URL(server.url).port);
  const resources = values.resource.length === 0 ? ["/email/messages"] : values.resource;
  const own = createOwnSubscriptions({
    client,
    resources,
    run: { run, port, api: values.api ?? "", account },
    folder: join(io.cwd ?? ".", ".hookline"),
  });
  const children = createChildren({ cwd: io.cwd, env: { ...io.env, SIGNING_SECRET: secret } });
  const exit: Io["exit"] = (code) => {
    children.kill();
    io.exit(code);
  };
  const stopListener = listenForStop({ signals: io.signals, exit }, ["SIGTERM", "SIGINT", "SIGHUP"]);
  const { promise: over, resolve: end, reject: fail } = Promise.withResolvers<number>();

  let wanted = "";
  let moving: Promise<void> = Promise.resolve();
  /** One move after the other; where a newer one waits, the older one is left out. */
  function moveTo(origin: string): void {
    const url = new URL(to.pathname + to.search, origin).href;
    wanted = url;
    moving = moving.then(() => subscribeAt(url));
    moving.catch(fail);
  }
  /** What is wrong with a URL; empty when it leads here and the app answers a verification request through it. */
  async function flawsOf(url: string): Promise<string> {
    const got = await askRun(url, run);
    if (got !== undefined) return `${url} does not lead here: ${got}`;
    const token = OWN_TOKEN + run;
    const outcome = await post(signedDelivery({ validationToken: token }, { secret, url }), signal);
    if ("stopped" in outcome) return "";
    if ("failure" in outcome) return outcome.failure.words;
    // A 502 is of the pass-through, and has the reason.
    return outcome.status === 502 ? outcome.body : handshakeFlaws(outcome, token).join(" ");
  }
  /** Waits until the URL is right: the tunnel or the app may be started later. */
  async function subscribeAt(url: string): Promise<void> {
    for (let told = ""; ; await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => {})) {
      const why = await flawsOf(url);
      if (signal.aborted || wanted !== url) return;
      if (why === "") break;
      if (why !== told) note(`Waiting for the app to answer the verification request: ${toPlain(why)}`);
      told = why;
    }
    const ids = await own.moveTo(url);
    note(`Subscribed at ${url}: ${ids.map((id, index) => `${id} ${resources[index]}`).join(", ")}.`);
    await mailbox?.receiveMail();
  }

  async function begin(): Promise<void> {
    const removed = await own.begin({ yes: values.yes });
    if (removed > 0) note(`Subscriptions removed that a killed run had left: ${removed}.`);
    note(`Passing ${server.url}${to.pathname} on to ${to.href}`);
    if (emulator !== undefined) note(`The emulator is at ${emulator.url}: let messages arrive there.`);
    if (emulator !== undefined && !io.env["SIGNING_SECRET"] && app.length === 0)
      note(`Its signing secret, for the app: ${secret}`);
    if (app.length > 0) children.start(app, note).then(end, fail);
    const command = values.ngrok ? NGROK : values.tunnel;
    if (command === undefined) return moveTo(values.url ?? server.url);
    await followTunnel({ command, port, run, children, signal, onOrigin: moveTo });
  }

  void stopListener.asked.then(() => end(EXIT.done));
  begin().catch(fail);
  await over.catch(() => {});
  stop.abort();
  const waiting = passThrough.waiting();
  if (hold && waiting > 0)
    note(`The app has not accepted ${waiting} of the deliveries: hookline send --from ${capture} sends all.`);
  await moving.catch(() => {});
  // The tunnel and the app end after the subscriptions.
  const removed = await own.end().catch(String);
  if (typeof removed === "number" && removed > 0) note(`Subscriptions removed: ${removed}.`);
  await children.stop();
  server.closeConnections();
  await server.close();
  report.end();
  stopListener.remove();
  if (typeof removed === "number") return over;
  throw new CommandError(EXIT.failed, `Subscriptions are left, which the next start removes: ${removed}`);
}

const NGROK = "ngrok http 127.0.0.1:{port} --log stdout";
const ASK_AGAIN_MS = 1_000;
