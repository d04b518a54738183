import { defineCommand, EXIT } from "../command.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { grouped, secondText } from "../terminal/format.ts";
import { factLines } from "../terminal/table.ts";
import { INBOX_FLAGS } from "./inbox-flags.ts";
import { readStats, type InboxStats } from "./read-stats.ts";
import { inboxPlace, printing } from "./with-inbox.ts";

/** `hookline inbox stats`: counts of jobs, and sizes on the disk. */
export const statsCommand = defineCommand({
  name: "inbox stats",
  summary: "Counts of jobs by state, and sizes on the disk.",
  help: {
    usage: "hookline inbox stats --inbox <inbox> [--json]",
    about: `Print counts of an inbox's jobs, and the state of its file or its tables. Sizes in JSON are in bytes.

  waiting         Jobs that wait for their turn or their next attempt.
  running         Jobs whose handler runs, or is about to.
  unexpanded      Deliveries that are stored and not made into jobs yet.
  blocked lanes   Lanes whose first job waits for its next attempt.
  dead            Jobs that failed for good: list --state dead says why.
  expired         Dead jobs that were removed because of their age.
  unhandled       Jobs whose event no handler takes.
  tombstones      Subscriptions that are answered 422.

It writes nothing, and does not slow down a receiver on the inbox. In PostgreSQL counts above 10,000 are estimates, and
workers are the processes whose heart beats within three seconds.`,
  },
  flags: INBOX_FLAGS,
  run: ({ inbox, schema, json }, io) =>
    printing(io, "read", async (printer) => {
      const stats = await readStats({ inbox: inboxPlace({ inbox, schema }, io.env), schema });
      await printer.print(json ? [toJsonLine(stats.json)] : toLines(stats));
      return EXIT.done;
    }),
});

function toLines(stats: InboxStats): readonly string[] {
  const { oldestWaitingAt, isWorkedOn } = stats;
  return factLines([
    ...stats.where,
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
    ...stats.sizes,
  ]);
}
