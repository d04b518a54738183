import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../client.ts";
import { signedDelivery } from "../testing.ts";
import { handshakeFlaws } from "./answers/handshake-flaws.ts";
import type { ValuesOf } from "./arguments.ts";
import { CommandError, defineCommand, EXIT, secretOf, type Io } from "./command.ts";
import { aborted, followTunnel, waitUntilLeads } from "./dev/follow-tunnel.ts";
import { createOwnSubscriptions } from "./dev/own-subscriptions.ts";
import { createPassThrough, OWN_TOKEN } from "./dev/pass-through.ts";
import { createReport } from "./dev/report.ts";
import { startChild, type Child, type Start } from "./dev/start-child.ts";
import { openStateFile } from "./dev/state-file.ts";
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
    about: "What to subscribe to; several times for several. Default: /email/messages.",
    many: true,
  },
  url: { ...APP_URL, value: "<url>", about: "A public URL that leads to the port of this command." },
  tunnel: {
    ...nonEmpty("the command line of a tunnel"),
    value: "<command>",
    about:
      "Start a tunnel. {port} in the command becomes the port of this one; the first printed https URL that leads here is taken.",
  },
  ngrok: { about: "Start ngrok as the tunnel. It must be installed and signed in." },
  emulator: { about: "Take the emulator as the service: no account, no token and no tunnel are needed." },
  capture: {
    ...nonEmpty("the path of a file"),
    value: "<file>",
    about: "Append each delivery to a file of JSON lines.",
  },
  hold: {
    about:
      "Answer 200 once a delivery is in the file of --capture, and repeat it to the app after 1, 2, 4 ... 30 s until the app answers 200.",
  },
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
start in the same folder removes what a killed run has left, and only that. When the tunnel gets another URL, the subscriptions move to it.

Bodies and headers pass byte for byte, only Host is the app's, and the app's answer goes back. A 401 is explained as by hookline explain. Requests to other
paths are answered 404.

A command behind -- is started as the app, with SIGNING_SECRET in its environment, and ends with this one; its output goes to stderr. When it
ends by itself, its exit code is the code of this command.`,
    notes: `Ctrl-C, SIGTERM and a terminal that closes remove the subscriptions and end the tunnel and the app. A second Ctrl-C ends at once: the next start removes what
is left.`,
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
    const stop = new AbortController();
    const children: Child[] = [];
    const exit: Io["exit"] = (code) => {
      for (const child of children) child.kill();
      io.exit(code);
    };
    const stopListener = listenForStop({ signals: io.signals, exit }, ["SIGTERM", "SIGINT", "SIGHUP"]);
    void stopListener.asked.then(() => stop.abort());
    try {
      return await runDev(values, io, { ...service, stop, children });
    } finally {
      stopListener.remove();
      await service.close();
    }
  },
});

type Values = ValuesOf<typeof FLAGS>;

/** @throws CommandError for flags that are missing or do not go together */
function assertFlags({ to, account, url, tunnel, ngrok, emulator, api, hold, capture }: Values): void {
  const ways = { emulator, url, tunnel, ngrok };
  const given = Object.entries(ways).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : `--${name}`,
  );
  const path = new URL(to).pathname;
  const wrong = [
    given.length !== 1 &&
      `Got ${given.join(" and ") || "no way from the service to this machine"}, expected one of --emulator, --url, --tunnel and --ngrok. --emulator needs nothing else.`,
    emulator &&
      (account ?? api) !== undefined &&
      "--account and --api do not go with --emulator, which has an account of its own.",
    !emulator && account === undefined && `--account is missing, expected ${ID_NUMBER.expects}.`,
    url !== undefined &&
      !["/", path].includes(new URL(url).pathname) &&
      `--url got ${url}, expected the path ${path} of --to, or none.`,
    hold && capture === undefined && "--hold needs --capture: a delivery is answered 200 when it is in that file.",
  ].find((message) => message !== false);
  if (wrong !== undefined) throw new CommandError(EXIT.usage, wrong);
}

const TOKEN_HINT =
  " The service's dashboard shows one for an account that you have connected; authorising an account gives one, too. Without any, --emulator plays the service.";

const nothing = async (): Promise<void> => {};

/** The account at the service, or at an emulator in this process. */
async function openService({ emulator, api, account = 0 }: Values, { env, cwd }: Io) {
  if (!emulator) {
    const client = accountClient(env, api, TOKEN_HINT);
    return {
      client,
      secret: secretOf(env),
      account,
      file: openStateFile(cwd),
      emulator: undefined,
      mailbox: undefined,
      close: nothing,
    };
  }
  // Loaded only here, as of all else that it needs.
  const { createEmulator } = await import("../emulator.ts");
  const service = await createEmulator({ secret: env["SIGNING_SECRET"] || undefined });
  const mailbox = await service.account();
  const client = createClient({ token: mailbox.token, baseUrl: service.url });
  const { secret, close: closeService } = service;
  return {
    client,
    secret,
    account: mailbox.accountId,
    file: undefined,
    emulator: service,
    mailbox,
    close: closeService,
  };
}

type Service = Awaited<ReturnType<typeof openService>>;
type Running = Service & { readonly stop: AbortController; readonly children: Child[] };

/** @returns the exit code */
async function runDev(values: Values, io: Io, running: Running): Promise<number> {
  const { client, secret, account, file, emulator, mailbox, stop, children } = running;
  const { to: route, hold, capture, resource, app } = values;
  const { signal } = stop;
  const to = new URL(route);
  const run = randomUUID();
  const report = createReport(io, values.json, () => passThrough.waiting());
  const { note } = report;
  let otherAccount = account;
  const passThrough = createPassThrough({
    to,
    secret,
    run,
    signal,
    hold,
    note,
    allowUnsubscribe: values["allow-unsubscribe"],
    capture: capture && resolve(io.cwd ?? ".", capture),
    onPassed(passed) {
      report.passed(passed);
      const of = passed.accountId ?? account;
      if (of === account || of === otherAccount) return;
      otherAccount = of;
      note(`A delivery is of account ${of}, not ${account}: is the token of another account?`);
    },
  });
  const server = await listen(passThrough.listener, { host: "127.0.0.1", port: values.port });
  const port = Number(new URL(server.url).port);
  const resources = resource.length === 0 ? ["/email/messages"] : resource;
  const own = createOwnSubscriptions({ client, resources, run: { run, port, api: values.api ?? "", account }, file });
  const env = { ...io.env, SIGNING_SECRET: secret, ...(io.stdout.isTTY === true && { FORCE_COLOR: "1" }) };
  const start: Start = (command, onLine) => {
    const child = startChild({ command, cwd: io.cwd, env, onLine });
    children.push(child);
    return child;
  };

  let wanted = "";
  let moving: Promise<void> = Promise.resolve();
  const { promise: failed, reject: fail } = Promise.withResolvers<undefined>();
  /** One move after the other; where a newer one waits, the older one is left out. */
  function moveTo(origin: string): void {
    const url = new URL(to.pathname + to.search, origin).href;
    wanted = url;
    moving = moving.then(() => move(url)).catch(fail);
  }
  async function move(url: string): Promise<void> {
    const isOver = (): boolean => signal.aborted || wanted !== url;
    await waitForApp(url, { secret, signal, note, isOver });
    if (isOver()) return;
    const ids = await own.moveTo(url);
    note(`Subscribed at ${url}: ${ids.map((id, index) => `${id} ${resources[index]}`).join(", ")}.`);
    await mailbox?.receiveMail();
  }

  const tunnel = new AbortController();
  let following: Promise<void> = Promise.resolve();
  async function findUrl(): Promise<void> {
    if (emulator !== undefined) return moveTo(server.url);
    const command = values.tunnel ?? NGROK;
    if (values.url === undefined)
      return followTunnel({ command, port, run, start, signal: tunnel.signal, onOrigin: moveTo, note });
    const got = await waitUntilLeads(new URL(values.url), run, signal);
    if (got === undefined || signal.aborted) return moveTo(values.url);
    const fix = `Start the tunnel to port ${port}, or let --tunnel start it.`;
    throw new CommandError(EXIT.failed, `tunnel-silent: ${values.url} does not lead to ${server.url}: ${got}. ${fix}`);
  }

  /** Resolves with the app's exit code, or at the stop. */
  async function work(): Promise<number | undefined> {
    const removed = await own.begin({ yes: values.yes });
    if (removed > 0) note(`Subscriptions removed that a killed run had left: ${removed}.`);
    note(`Passing ${server.url}${to.pathname} on to ${to.href}`);
    if (emulator !== undefined) note(`The emulator is at ${emulator.url}: let messages arrive there.`);
    if (emulator !== undefined && !io.env["SIGNING_SECRET"] && app.length === 0)
      note(`Its signing secret, for the app: ${secret}`);
    const child = app.length === 0 ? undefined : start(app, note);
    following = findUrl();
    const stopped = aborted(signal);
    return Promise.race([stopped, failed, following.then(() => stopped), child?.exited ?? stopped]);
  }

  const outcome = await work().then(
    (code) => ({ code }),
    (error: unknown) => ({ error }),
  );
  stop.abort();
  if (hold && passThrough.waiting() > 0)
    note(
      `The app has not accepted ${passThrough.waiting()} of the deliveries: hookline send --from ${capture} sends all.`,
    );
  await moving;
  // The tunnel and the app end after the subscriptions.
  const left = await own.end().catch((error: unknown) => String(error));
  if (left !== undefined) note(`Subscriptions are left, which the next start removes: ${left}`);
  tunnel.abort();
  await Promise.all([following.catch(() => {}), ...children.map((child) => child.stop())]);
  server.closeConnections();
  await server.close();
  report.end();
  if ("error" in outcome) throw outcome.error;
  return outcome.code ?? (left === undefined ? EXIT.done : EXIT.failed);
}

const NGROK = "ngrok http 127.0.0.1:{port} --log stdout";
const ASK_AGAIN_MS = 1_000;

interface Waiting {
  readonly secret: string;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
  readonly isOver: () => boolean;
}

/** Asks until the app answers a verification request through its public URL: it may be started later, or changed. */
async function waitForApp(url: string, { secret, signal, note, isOver }: Waiting): Promise<void> {
  for (let told = ""; !isOver(); await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => {})) {
    const token = OWN_TOKEN + randomUUID();
    const outcome = await post(signedDelivery({ validationToken: token }, { secret, url }), signal);
    if ("stopped" in outcome) return;
    const flaws = "failure" in outcome ? [outcome.failure.words] : handshakeFlaws(outcome, token);
    // The answer of the pass-through has the reason.
    const why = toPlain("status" in outcome && outcome.status === 502 ? outcome.body : flaws.join(" ")).replaceAll(
      token,
      "",
    );
    if (why === "") return;
    if (why !== told) note(`Waiting for the app to answer the verification request: ${why}`);
    told = why;
  }
}
