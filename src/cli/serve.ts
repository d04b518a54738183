import type { Writable } from "node:stream";
import { nodeReceiver } from "../../adapters/http/node.ts";
import { postgresInbox } from "../../adapters/inbox/postgres.ts";
import { sqliteInbox } from "../../adapters/inbox/sqlite.ts";
import { createReceiver, memoryInbox, RetryLater, type Inbox, type Logger, type Receiver } from "../index.ts";
import { CommandError, defineCommand, EXIT, secretOf, type ExitCode, type Io } from "./command.ts";
import { HOST, INBOX_PLACE, isConnectionString, PORT, URL_PATH } from "./flags.ts";
import { startAdminServer } from "./serve/admin-server.ts";
import { forwardEvents } from "./serve/forward-events.ts";
import { FORWARD_FLAGS, toForwarding, type Forwarding } from "./serve/forward-flags.ts";
import { listen, type ListeningServer } from "./serve/listen.ts";
import { createLog } from "./serve/log.ts";
import { listenForStop } from "./signals.ts";
import { exitCodeOf } from "./terminal/printer.ts";

/** `hookline serve`: a receiver that prints the events that it handles, or forwards them to apps of any language. */
export const serve = defineCommand({
  name: "serve",
  summary: "Receive deliveries, and print each event as a line of JSON or hand it to an app.",
  help: {
    usage: "SIGNING_SECRET=<secret> hookline serve [flags]",
    about: `Receive deliveries, and print each event as a line of JSON or hand it to an app.

Every delivery is verified, stored and answered 200. Then its events are printed on stdout:

  {"name":"email.created","jobId":"...","attempt":1,"merged":1,"event":{...}}

  name     The event's type; "unknown" where it was signed but not understood.
  jobId    The unit of work that this line stands for.
  attempt  From 1.
  merged   How many waiting changes of one record this line stands for.
  event    The event itself.

With --forward-to, events are handed to an app of any language instead, by POST:

  hookline serve --inbox inbox.db --forward-to http://127.0.0.1:8000/events

The body is {"type":"email.created","attempt":1,"merged":1,"event":{...}}, signed as Standard Webhooks prescribes. The
app's answer decides: 2xx done; 410 dead at once; 429 and 503 with Retry-After are followed, up to an hour; any other
answer or none is tried again for 3 days, then dead. The service gets 200 in all cases.

The log goes to stderr: lines of JSON, or of text on a terminal. Its first line has the URLs.`,
    notes: `SIGTERM and Ctrl-C end it in order: it accepts nothing more, and prints what it accepted, or with --inbox leaves
it there for the next start. A second signal ends it at once: events in memory that are not printed by then are
lost. With --inbox they are printed after the next start, and so is a line that was being printed, with its attempt
counted.`,
    secretOf: "the application, from the service's dashboard",
    environment: [
      ["OLD_SIGNING_SECRET", "Is accepted as well, while you change the secret."],
      [
        "FORWARD_SECRET",
        "With --forward-to: what requests to the apps are signed with. Two, with a blank between, both sign.",
      ],
    ],
  },
  flags: {
    port: { ...PORT, value: "<port>", about: "Where to listen; 0 takes a free port.", default: 3000 },
    host: {
      ...HOST,
      value: "<address>",
      about:
        "Which of the machine's addresses to listen on. The default is for a tunnel or a proxy on this machine alone; in a container, or behind a proxy on another machine, take 0.0.0.0.",
      default: "127.0.0.1",
    },
    path: {
      ...URL_PATH,
      value: "<path>",
      about: "The path of deliveries; other paths are answered 404.",
      default: "/webhooks",
    },
    "admin-port": {
      ...PORT,
      value: "<port>",
      about:
        "The port of health and stats. GET /livez answers 503 if a restart can help. GET /readyz answers 503 while a delivery would not be stored. GET /stats has counters, and problems with their fixes. GET /metrics is for Prometheus. On a loopback address, /ui is the dashboard, without content and changes. 0 takes a free port. Default: none.",
    },
    "admin-host": {
      ...HOST,
      value: "<address>",
      about:
        "The address on which the admin port listens. The port asks for no password. Default: 127.0.0.1, which only this machine reaches. For a probe or a Prometheus on another machine, take 0.0.0.0 or an address of a private network; /ui is off then.",
    },
    inbox: {
      ...INBOX_PLACE,
      value: "<inbox>",
      about:
        "Store deliveries in this SQLite file, on a local disk, or in the PostgreSQL database of a connection string: what was answered 200 survives a crash and a power cut. Default: in memory, which ends with the process.",
    },
    ...FORWARD_FLAGS,
  },
  async run(values, io) {
    const { port, host, path, "admin-port": adminPort, "admin-host": adminHost, inbox: place } = values;
    const [value, old = ""] = [secretOf(io.env), io.env["OLD_SIGNING_SECRET"]];
    const secret = [{ name: "default", value }, ...(old.trim() === "" ? [] : [{ name: "old", value: old }])];
    assertAdminFlags(adminPort, adminHost, port);
    const forwarding = toForwarding(values, io.env);
    const log = createLog(io.stderr);
    const lines = createJsonLines(io.stdout);
    const inbox = inboxAt(place);
    // A connection string may have a password.
    const file = place === undefined || isConnectionString(place) ? undefined : place;
    // Printing takes as long as the reader does: a line that waits must not be tried again.
    const receiver = createReceiver({ secret, inbox, log, timeoutMs: 0, concurrency: forwarding?.concurrency });
    const endForwarding = forwarding && forwardEvents(receiver, forwarding);
    if (forwarding === undefined) printEvents(receiver, lines);
    let accepts = false;
    const adminAddress = adminPort === undefined ? undefined : { host: adminHost ?? "127.0.0.1", port: adminPort };
    const admin = adminAddress && (await startAdminServer(adminAddress, { receiver, accepts: () => accepts, log }));
    const stopListener = listenForStop(io);
    try {
      await receiver.start();
      const server = await listen(nodeReceiver(receiver, { path }), { host, port });
      accepts = true;
      log.info({ url: `${server.url}${path}`, ...(admin && { admin: admin.url }), ...(file && { file }) }, "listening");
      if (receiver.stats().role === "standby")
        log.info(
          { file },
          "another process works on the inbox and gets the events: this one takes over when that one ends",
        );
      const end = await Promise.race([stopListener.asked, lines.failed]);
      accepts = false;
      if (typeof end === "string") log.info({ signal: end }, "stopping");
      const allHandled = await stopGracefully(server, receiver, drainMsOf(forwarding));
      if (typeof end !== "string") return exitCodeOf(end);
      return allHandled ? EXIT.done : endWithUnprinted(inbox, log, io);
    } catch (error) {
      // It would go on working unseen, such as where the port is in use.
      await receiver.close({ drainMs: 0 });
      throw error;
    } finally {
      stopListener.remove();
      endForwarding?.();
      await admin?.close();
    }
  },
});

/** @throws CommandError where both ports are the same, or the address has no port */
function assertAdminFlags(adminPort: number | undefined, adminHost: string | undefined, port: number): void {
  if (adminPort === undefined && adminHost !== undefined)
    throw new CommandError(
      EXIT.usage,
      `--admin-host got ${adminHost}, but there is no admin server without --admin-port. Give that too.`,
    );
  if (adminPort === undefined || adminPort === 0 || adminPort !== port) return;
  throw new CommandError(EXIT.usage, `--admin-port got ${adminPort}, expected another port than --port.`);
}

function printEvents(receiver: Receiver, lines: ReturnType<typeof createJsonLines>): void {
  receiver.on(["*", "unknown"], async (event, { jobId, attempt, merged }) => {
    const printed = await lines.write({ name: event.type, jobId, attempt, merged, event });
    // The reader is gone: the inbox has the event for the next start.
    if (!printed && receiver.storage !== "memory") throw new RetryLater({ afterSeconds: 1 });
  });
}

function createJsonLines(stream: Writable) {
  return {
    /** Resolves with whether the stream took the line. */
    write: (thing: object) =>
      new Promise<boolean>((resolve) => void stream.write(`${JSON.stringify(thing)}\n`, (error) => resolve(!error))),
    /** Resolves when the stream fails: with code `EPIPE` when its reader closed it. */
    failed: new Promise<NodeJS.ErrnoException>((resolve) => stream.on("error", resolve)),
  };
}

/** Longest wait for open requests, and then for their events. */
const STOP_LIMIT_MS = 5_000;

/** Longest wait for the answers of apps: with the rest it is less than the 40 s that supervisors are told to give. */
const MOST_ANSWER_MS = 25_000;

/** Signals abort 5 s before the end. */
function drainMsOf(forwarding: Forwarding | undefined): number {
  return forwarding === undefined ? STOP_LIMIT_MS : Math.min(forwarding.timeoutMs, MOST_ANSWER_MS) + STOP_LIMIT_MS;
}

/**
 * Ends a receiver and its server in the order that loses nothing: no more requests, no more events, close.
 *
 * @returns false when accepted events were not handled in time; of those on a disk only the ones that run count
 */
async function stopGracefully(server: ListeningServer, receiver: Receiver, drainMs: number): Promise<boolean> {
  await endsInTime(server.close());
  server.closeConnections();
  if (receiver.storage !== "memory") {
    // Waiting jobs are stored. The whole drain time is for the handlers that run.
    const { stuck } = await receiver.close({ drainMs });
    return stuck === 0;
  }
  // Closing starts no further handlers, and events that wait in memory end with the process.
  const allHandled = await endsInTime(receiver.idle());
  await receiver.close({ drainMs: 0 });
  return allHandled;
}

async function endsInTime(end: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), STOP_LIMIT_MS)));
  const inTime = await Promise.race([end.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}

function endWithUnprinted({ storage }: Inbox, log: Logger, io: Pick<Io, "exit">): ExitCode {
  const late = "the reader did not take all lines in time";
  if (storage === "memory") log.error({}, `${late}: events that were stored in memory are lost`);
  else log.error({}, `${late}: they are stored, and come again at the next start`);
  // A line that the reader does not take would keep the process alive.
  io.exit(EXIT.failed);
  return EXIT.failed;
}

function inboxAt(place: string | undefined): Inbox {
  if (place === undefined) return memoryInbox();
  return isConnectionString(place) ? postgresInbox(place) : sqliteInbox(place);
}
