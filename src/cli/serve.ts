import { nodeReceiver } from "../../adapters/http/node.ts";
import { sqliteInbox } from "../../adapters/inbox/sqlite.ts";
import { createReceiver, memoryInbox, RetryLater, type Logger } from "../index.ts";
import { startAdmin } from "./serve/admin-server.ts";
import { CommandError } from "./command-error.ts";
import { defineCommand, type Io } from "./command.ts";
import { drain } from "./serve/graceful-stop.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { adminHostFlag, adminPortFlag, fileFlag, hostFlag, pathFlag, portFlag } from "./flags.ts";
import { SERVE_HELP } from "./help.ts";
import { createJsonLines } from "./serve/json-lines.ts";
import { listen } from "./serve/listen.ts";
import { createLog } from "./serve/log.ts";
import { secretOf } from "./secret.ts";
import { listenForStop } from "./signals.ts";
import { endedWithoutReader } from "./terminal/broken-pipe.ts";

/** `hookline serve`: a receiver of its own that prints what it handles. */
export const serve = defineCommand({
  name: "serve",
  summary: "Receive deliveries and print each handled event as a line of JSON.",
  help: SERVE_HELP,
  flags: {
    port: portFlag(3000),
    host: hostFlag("127.0.0.1"),
    path: pathFlag("/webhooks"),
    "admin-port": adminPortFlag,
    "admin-host": adminHostFlag,
    inbox: fileFlag,
  },
  async run({ port, host, path, "admin-port": adminPort, "admin-host": adminHost, inbox: file }, io) {
    const secret = secretOf(io.env);
    assertAdmin(adminPort, adminHost, port);
    const log = createLog(io.stderr);
    const lines = createJsonLines(io.stdout);
    const inbox = file === undefined ? memoryInbox() : sqliteInbox(file);
    // Printing is limited by nothing but the reader: a line that waits for him must not be tried again.
    const receiver = createReceiver({ secret, inbox, log, timeoutMs: 0 });
    receiver.on(["*", "unknown"], async (event, { jobId, attempt, merged }) => {
      const printed = await lines.write({ name: event.type, jobId, attempt, merged, event });
      // Nobody read it: a file keeps it for the next start.
      if (!printed && file !== undefined) throw new RetryLater({ afterSeconds: 1 });
    });
    let accepts = false;
    const admin =
      adminPort === undefined
        ? undefined
        : await startAdmin({ host: adminHost ?? "127.0.0.1", port: adminPort }, { receiver, accepts: () => accepts });
    const stopping = listenForStop(io);
    try {
      await receiver.start();
      const server = await listen(nodeReceiver(receiver, { path }), { host, port });
      accepts = true;
      log.info({ url: `${server.url}${path}`, ...(admin && { admin: admin.url }), ...(file && { file }) }, "listening");
      if (receiver.stats().role === "standby")
        log.info(
          { file },
          "another process works on the inbox and gets the events: this one takes over when that ends",
        );
      const end = await Promise.race([stopping.asked, lines.broken]);
      accepts = false;
      if (typeof end === "string") log.info({ signal: end }, "stopping");
      const handled = await drain(server, receiver);
      if (typeof end !== "string") return endedWithoutReader(end);
      return handled ? EXIT.done : endedTooEarly(file, log, io);
    } finally {
      stopping.forget();
      await admin?.end();
    }
  },
});

/** @throws CommandError where the port is the receiver's own, or there is none for the address */
function assertAdmin(adminPort: number | undefined, adminHost: string | undefined, port: number): void {
  if (adminPort === undefined && adminHost !== undefined)
    throw new CommandError(
      EXIT.usage,
      `--admin-host got ${adminHost}, but without --admin-port nobody is told. Give that too.`,
    );
  if (adminPort === undefined || adminPort === 0 || adminPort !== port) return;
  throw new CommandError(EXIT.usage, `--admin-port got ${adminPort}, expected another port than --port.`);
}

function endedTooEarly(file: string | undefined, log: Logger, io: Pick<Io, "exit">): ExitCode {
  if (file === undefined)
    log.error({}, "the reader did not take all lines in time: events that were stored in memory are lost");
  else
    log.error({ file }, "the reader did not take all lines in time: they are stored, and come again at the next start");
  // A line that is not taken would hold the process.
  io.exit(EXIT.failed);
  return EXIT.failed;
}
