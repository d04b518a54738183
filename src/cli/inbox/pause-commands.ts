import type { Flow, FlowPause, FlowTarget } from "../../index.ts";
import { CommandError, defineCommand, EXIT } from "../command.ts";
import { ID_NUMBER, nonEmpty } from "../flags.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { grouped, minuteText } from "../terminal/format.ts";
import { createTable } from "../terminal/table.ts";
import { INBOX_FLAGS, SPAN } from "./inbox-flags.ts";
import { withInbox } from "./with-inbox.ts";

const TARGET_FLAGS = {
  consumer: { ...nonEmpty("the name of a consumer"), value: "<name>", about: "All jobs of this consumer." },
  account: { ...ID_NUMBER, value: "<n>", about: "All jobs of this account; with --consumer, of the two together." },
} as const;

/** `hookline inbox pause`: no further handler starts for some jobs. */
export const pauseCommand = defineCommand({
  name: "inbox pause",
  summary: "Start no handler of a consumer or an account.",
  help: {
    usage: "hookline inbox pause --consumer <name> --reason <text> --inbox <inbox>",
    about: `Pause jobs: deliveries are stored and answered 200 as ever, and no further handler starts for them.

  hookline inbox pause --consumer crm --reason "is down" --inbox inbox.db
  hookline inbox pause --account 2002 --reason "imports a mailbox" --for 2h

It holds in all processes on the inbox within 2 s, and after a restart, until you resume it. What runs ends.`,
  },
  flags: {
    ...TARGET_FLAGS,
    reason: { ...nonEmpty("why, in some words"), value: "<text>", about: "Why; health() shows it.", required: true },
    for: { ...SPAN, value: "<time>", about: "End it by itself after this time, such as 30m, 2h or 7d." },
    ...INBOX_FLAGS,
  },
  run({ consumer, account, reason, for: span, inbox, schema, json }, io) {
    const what = toTarget(consumer, account);
    return withInbox({ inbox, schema, io, access: "change" }, async ({ receiver: { flow }, printer }) => {
      await flow.pause(what, { reason, until: span === undefined ? undefined : new Date(Date.now() + span) });
      const paused = (await flow.paused()).find((one) => one.consumer === consumer && one.accountId === account);
      const waiting = `${grouped(paused?.waiting ?? 0)} ${paused?.waiting === 1 ? "job waits" : "jobs wait"}`;
      await printer.print([json ? toJsonLine({ ...paused }) : `Paused ${toWords(what)}: ${waiting}.`]);
      return EXIT.done;
    });
  },
});

/** `hookline inbox resume`: ends a pause. */
export const resumeCommand = defineCommand({
  name: "inbox resume",
  summary: "End a pause.",
  help: {
    usage: "hookline inbox resume --consumer <name> --inbox <inbox> [flags]",
    about: `End the pause of exactly this consumer, account, or both: what waits starts within 2 s, in its order.

  hookline inbox resume --consumer crm --inbox inbox.db`,
  },
  flags: { ...TARGET_FLAGS, ...INBOX_FLAGS },
  run({ consumer, account, inbox, schema, json }, io) {
    const what = toTarget(consumer, account);
    return withInbox({ inbox, schema, io, access: "change" }, async ({ receiver: { flow }, printer }) => {
      const { resumed } = await flow.resume(what);
      if (!resumed) throw new CommandError(EXIT.failed, `There is no pause of ${toWords(what)}: see inbox paused.`);
      await printer.print([json ? toJsonLine({ consumer, account, resumed }) : `Resumed ${toWords(what)}.`]);
      return EXIT.done;
    });
  },
});

/** `hookline inbox paused`: what is paused now. */
export const pausedCommand = defineCommand({
  name: "inbox paused",
  summary: "What is paused, and how much waits.",
  help: { usage: "hookline inbox paused --inbox <inbox> [flags]", about: "List what is paused now, the oldest first." },
  flags: INBOX_FLAGS,
  run({ inbox, schema, json }, io) {
    return withInbox({ inbox, schema, io, access: "read" }, async ({ receiver, printer }) => {
      const found = await receiver.flow.paused();
      if (json) await printer.print(found.map((one) => toJsonLine({ ...one })));
      else if (found.length === 0) io.stderr.write("Nothing is paused.\n");
      else await printer.print(createTable(HEADS, io.stdout).lines(found.map(toRow)));
      return EXIT.done;
    });
  },
});

const HEADS = ["CONSUMER", "ACCOUNT", "WAITING", "SINCE (UTC)", "UNTIL (UTC)", "REASON"];

function toRow({ consumer, accountId, waiting, since, until, reason }: FlowPause): readonly string[] {
  const end = until === undefined ? "resumed" : minuteText(until);
  return [
    toPlain(consumer ?? "(all)"),
    String(accountId ?? "(all)"),
    grouped(waiting),
    minuteText(since),
    end,
    toPlain(reason),
  ];
}

/** @throws CommandError for neither of the two */
function toTarget(consumer: string | undefined, accountId: number | undefined): Parameters<Flow["resume"]>[0] {
  if (consumer !== undefined || accountId !== undefined) return { consumer, accountId };
  throw new CommandError(EXIT.usage, "Got neither --consumer nor --account, expected one of them: what is paused.");
}

function toWords({ consumer, accountId }: FlowTarget): string {
  const of = [
    accountId === undefined ? [] : `account ${accountId}`,
    consumer === undefined ? [] : `consumer ${consumer}`,
  ];
  return of.flat().join(" of ");
}
