import { lookAtFile, statsOfFile } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { grouped } from "../terminal/format.ts";
import { INBOX_FLAGS } from "./common-flags.ts";
import { STATS_HELP } from "./help-looking.ts";
import { timeText } from "./time-flag.ts";
import { fileOf, printing } from "./with-inbox.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { factLines } from "../terminal/table.ts";

/** `hookline inbox stats`: how much there is in a file, and around it. */
export const statsCommand = defineCommand({
  name: "inbox stats",
  summary: "How much there is: waiting, dead, unhandled, on the disk.",
  help: STATS_HELP,
  flags: INBOX_FLAGS,
  run: ({ inbox, json }, io) =>
    printing(io, "look", async (printer) => {
      const file = fileOf(inbox, io.env);
      const told = toTold(file, Date.now());
      await printer.print(json ? [toJsonLine(told)] : linesOf(told));
      return EXIT.done;
    }),
});

type Told = ReturnType<typeof toTold>;

function toTold(file: string, now: number) {
  const { path, name, schemaVersion, isWorkedOn } = lookAtFile(file);
  const { oldestUnexpandedAt, oldestUnsettledAt, ...stats } = statsOfFile(path, now);
  const oldest = Math.min(oldestUnexpandedAt ?? Infinity, oldestUnsettledAt ?? Infinity);
  const oldestWaitingAt = oldest === Infinity ? undefined : new Date(oldest);
  return { file, receiver: name, schemaVersion, isWorkedOn, ...stats, oldestWaitingAt };
}

function linesOf(told: Told): readonly string[] {
  const { oldestWaitingAt, isWorkedOn } = told;
  return factLines([
    ["file", toPlain(told.file)],
    ["receiver", toPlain(told.receiver)],
    ["schema version", String(told.schemaVersion)],
    ["worked on", isWorkedOn ? "yes" : "no: what waits is handled once a receiver starts on it"],
    ["waiting", grouped(told.waiting)],
    ["running", `${grouped(told.running)}${isWorkedOn || told.running === 0 ? "" : ", when its process ended"}`],
    ["unexpanded", grouped(told.unexpanded)],
    ["blocked lanes", grouped(told.blockedLanes)],
    ["dead", grouped(told.dead)],
    ["unhandled", grouped(told.unhandled)],
    ["tombstones", grouped(told.tombstones)],
    ["oldest waiting", oldestWaitingAt === undefined ? "none" : `received ${timeText(oldestWaitingAt)}`],
    ["file size", sizeText(told.fileBytes)],
    ["write-ahead log", sizeText(told.walBytes)],
    ["free disk", sizeText(told.freeDiskBytes)],
  ]);
}

function sizeText(bytes: number): string {
  const mebibytes = bytes / 1024 ** 2;
  return mebibytes < 1_024 ? `${grouped(mebibytes)} MiB` : `${grouped(mebibytes / 1_024)} GiB`;
}
