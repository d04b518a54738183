import { lookAtFile, statsOfFile } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { defineCommand, EXIT } from "../command.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { grouped, secondText } from "../terminal/format.ts";
import { factLines } from "../terminal/table.ts";
import { INBOX_FLAGS } from "./inbox-flags.ts";
import { inboxPath, withPrinter } from "./with-inbox.ts";

/** `hookline inbox stats`: counts of jobs, and sizes on the disk. */
export const statsCommand = defineCommand({
  name: "inbox stats",
  summary: "Counts of jobs by state, and sizes on the disk.",
  help: {
    usage: "hookline inbox stats --inbox <file> [--json]",
    about: `Print counts of an inbox's jobs, and the state of its file. Sizes in JSON are in bytes.

  waiting         Jobs that wait for their turn or their next attempt.
  running         Jobs whose handler runs, or is about to.
  unexpanded      Deliveries that are stored and not made into jobs yet.
  blocked lanes   Lanes whose first job waits for its next attempt.
  dead            Jobs that failed for good: list --state dead says why.
  expired         Dead jobs that were removed because of their age.
  unhandled       Jobs whose event no handler takes.
  tombstones      Subscriptions that are answered 422.

It writes nothing, and does not slow down a receiver on the file.`,
  },
  flags: INBOX_FLAGS,
  run: ({ inbox, json }, io) =>
    withPrinter(io, "read", async (printer) => {
      const stats = readStats(inboxPath(inbox, io.env), Date.now());
      await printer.print(json ? [toJsonLine(stats)] : toLines(stats));
      return EXIT.done;
    }),
});

function readStats(file: string, now: number) {
  const { path, name, schemaVersion, isWorkedOn } = lookAtFile(file);
  const { oldestUnexpandedAt, oldestOpenAt, ...stats } = statsOfFile(path, now);
  const oldest = Math.min(oldestUnexpandedAt ?? Infinity, oldestOpenAt ?? Infinity);
  const oldestWaitingAt = oldest === Infinity ? undefined : new Date(oldest);
  return { file, receiver: name, schemaVersion, isWorkedOn, ...stats, oldestWaitingAt };
}

function toLines(stats: ReturnType<typeof readStats>): readonly string[] {
  const { oldestWaitingAt, isWorkedOn } = stats;
  return factLines([
    ["file", toPlain(stats.file)],
    ["receiver", toPlain(stats.receiver)],
    ["schema version", String(stats.schemaVersion)],
    ["worked on", isWorkedOn ? "yes" : "no: what waits is handled once a receiver starts on it"],
    ["waiting", grouped(stats.waiting)],
    ["running", `${grouped(stats.running)}${isWorkedOn || stats.running === 0 ? "" : ", when its process ended"}`],
    ["unexpanded", grouped(stats.unexpanded)],
    ["blocked lanes", grouped(stats.blockedLanes)],
    ["dead", grouped(stats.dead)],
    ["expired", grouped(stats.expired)],
    ["unhandled", grouped(stats.unhandled)],
    ["tombstones", grouped(stats.tombstones)],
    ["oldest waiting", oldestWaitingAt === undefined ? "none" : `received ${secondText(oldestWaitingAt)}`],
    ["file size", sizeText(stats.fileBytes)],
    ["write-ahead log", sizeText(stats.walBytes)],
    ["free disk", sizeText(stats.freeDiskBytes)],
  ]);
}

function sizeText(bytes: number): string {
  const mebibytes = bytes / 1024 ** 2;
  return mebibytes < 1_024 ? `${grouped(mebibytes)} MiB` : `${grouped(mebibytes / 1_024)} GiB`;
}
