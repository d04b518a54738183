import type { GapInfo, ReceiverLists } from "../../index.ts";
import { CommandError, defineCommand, EXIT } from "../command.ts";
import { ID_NUMBER, wholeNumber } from "../flags.ts";
import { toJsonLine, toPlain } from "../terminal/escape-terminal.ts";
import { grouped, minuteText } from "../terminal/format.ts";
import { createTable } from "../terminal/table.ts";
import { DRY_RUN_FLAG, INBOX_FLAGS, someOf } from "./inbox-flags.ts";
import { withInbox } from "./with-inbox.ts";

const FILTER_FLAGS = {
  family: {
    ...someOf(["email", "contact", "calendarEvent", "task", "tracking", "booking", "unknown"]),
    value: "<family>",
    about: "Gaps of this family, such as contact; several with commas between them.",
  },
  account: { ...ID_NUMBER, value: "<n>", about: "Gaps of this account." },
} as const;

/** `hookline inbox gaps list`: where something may be missing. */
export const gapsCommand = defineCommand({
  name: "inbox gaps list",
  alias: "inbox gaps",
  summary: "Windows in which something may be missing.",
  help: {
    usage: "hookline inbox gaps [list] --inbox <inbox> [filters] [flags]",
    about: `List the gaps: for each resource of a subscription the window in which something may be missing.

  hookline inbox gaps --inbox inbox.db --family contact,task
  hookline inbox gaps --inbox inbox.db --account 2002 --json

The cause is refused (deliveries were not answered 200), down (no process was there), errored (the service reported an
error of the subscription), silent (nothing came for longer than usual) or gone (the subscription did not exist).

A receiver ends those of email, calendarEvent, contact and task by itself, if it has a handler of .changes or a delta sync for them.`,
  },
  flags: {
    ...INBOX_FLAGS,
    "show-content": { about: "Show ids in resources too: that of a calendar is often an address." },
    ...FILTER_FLAGS,
    limit: { ...wholeNumber(1, 1_000_000), value: "<n>", about: "At most so many.", default: 50 },
  },
  run({ inbox, schema, json, "show-content": showContent, limit, family, account }, io) {
    return withInbox({ inbox, schema, io, access: "read" }, async ({ receiver, printer }) => {
      const table = createTable(HEADS, io.stdout);
      let left = limit;
      for await (const page of pagesOf(receiver.lists, { families: family, accountId: account }, limit)) {
        left -= page.gaps.length;
        const shown = page.gaps.map((gap) => (showContent ? gap : { ...gap, resource: hideIds(gap.resource) }));
        if (shown.length > 0)
          await printer.print(json ? shown.map((gap) => toJsonLine(gap)) : table.lines(shown.map(toRow)));
        if (left === 0 && page.next !== undefined) io.stderr.write("There are more: a higher --limit shows them.\n");
      }
      if (left === limit && !json) io.stderr.write("There are no such gaps.\n");
      return EXIT.done;
    });
  },
});

/** `hookline inbox gaps clear`: somebody has compared, or nothing is missing. */
export const clearGapsCommand = defineCommand({
  name: "inbox gaps clear",
  summary: "Forget gaps, after you have compared your copy.",
  help: {
    usage: `hookline inbox gaps clear --family <family> --inbox <inbox> [flags]
hookline inbox gaps clear --account <n> --inbox <inbox> [flags]
hookline inbox gaps clear --all --inbox <inbox> [flags]`,
    about: `Forget gaps: you have compared your copy with the service, or nothing of it matters. It does not ask: try --dry-run.

  hookline inbox gaps clear --family contact,task --inbox inbox.db
  hookline inbox gaps clear --family booking --account 2002 --dry-run

Both filters must hold where both are given. Those that go on are cleared, too; an error of a subscription is a gap again
once it ends.`,
    notes: "A receiver may run on the inbox: its health() follows within a minute.",
  },
  flags: { ...FILTER_FLAGS, all: { about: "All gaps." }, ...INBOX_FLAGS, ...DRY_RUN_FLAG },
  run({ family, account, all, inbox, schema, json, "dry-run": dryRun }, io) {
    const isFiltered = family !== undefined || account !== undefined;
    if (isFiltered === all)
      throw new CommandError(
        EXIT.usage,
        all
          ? "Got --all and a filter, expected one of them."
          : "Got neither a filter nor --all. Say which gaps: --family, --account, or --all.",
      );
    return withInbox({ inbox, schema, io, access: dryRun ? "read" : "change" }, async ({ receiver, printer }) => {
      const [lists, query] = [receiver.lists, { families: family, accountId: account }];
      const counts = new Map<string, number>();
      for await (const page of pagesOf(lists, query))
        for (const gap of page.gaps) counts.set(gap.family, (counts.get(gap.family) ?? 0) + 1);
      if (!dryRun) for await (const page of pagesOf(lists, query)) await lists.clearGaps(page.gaps);
      const found = [...counts].map(([name, count]) => ({ family: name, count })).toSorted((a, b) => b.count - a.count);
      const count = found.reduce((sum, one) => sum + one.count, 0);
      const told = `${dryRun ? "Would clear" : "Cleared"} ${grouped(count)} ${count === 1 ? "gap" : "gaps"}.`;
      const rows = found.map((one) => [grouped(one.count), one.family]);
      const lines = count === 0 ? [told] : [told, ...createTable(["GAPS", "FAMILY"], io.stdout).lines(rows)];
      await printer.print(json ? [toJsonLine({ dryRun, count, found })] : lines);
      return EXIT.done;
    });
  },
});

/** Gaps that are read, and printed or removed, at once. */
const PAGE_SIZE = 1_000;

async function* pagesOf(
  lists: Pick<ReceiverLists, "gaps">,
  query: Pick<NonNullable<Parameters<ReceiverLists["gaps"]>[0]>, "families" | "accountId">,
  limit = Infinity,
): AsyncGenerator<Awaited<ReturnType<ReceiverLists["gaps"]>>> {
  let left = limit;
  let after: string | undefined;
  do {
    const page = await lists.gaps({ ...query, after, limit: Math.min(left, PAGE_SIZE) });
    yield page;
    left -= page.gaps.length;
    after = page.next;
  } while (after !== undefined && left > 0);
}

// The last column is the one that a narrow terminal cuts.
const HEADS = ["FAMILY", "ACCOUNT", "SUBSCRIPTION", "SOURCE", "CAUSE", "FROM (UTC)", "UNTIL (UTC)", "RESOURCE"];

function toRow({ family, accountId, subscription, source, cause, from, until, resource }: GapInfo): readonly string[] {
  return [
    family,
    String(accountId),
    String(subscription),
    toPlain(source ?? ""),
    cause,
    minuteText(from),
    until === undefined ? "goes on" : minuteText(until),
    toPlain(resource),
  ];
}

/** What is no id in the path of a resource. @see protocol 6.1 */
const PATH_WORDS: ReadonlySet<string> = new Set(
  "email messages tracking calendars primary events contacts tasklists default tasks booking".split(" "),
);

/** Hides a resource's ids, but numbers. */
function hideIds(resource: string): string {
  return resource.replaceAll(/[^/]+/g, (part) => (PATH_WORDS.has(part) || /^\d+$/.test(part) ? part : "[hidden]"));
}
