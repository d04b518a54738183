import type { Jobs, Receiver, Selection } from "../../index.ts";
import type { Io } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { switchFlag } from "../flags.ts";
import { grouped } from "../terminal/format.ts";
import { listenForStop } from "../signals.ts";
import { INBOX_FLAGS } from "./common-flags.ts";
import { SELECTION_FLAGS, toSelection, type SelectionValues, type Verb } from "./inbox-flags.ts";
import { withInbox, type OpenInbox } from "./with-inbox.ts";
import { toJsonLine } from "../terminal/escape-terminal.ts";
import { tallyLines, tallyOf, type Tallied } from "./tally.ts";

/** What a command takes that changes jobs. */
export const CHANGE_FLAGS = { ...SELECTION_FLAGS, ...INBOX_FLAGS, "dry-run": switchFlag } as const;

export interface ChangeValues extends SelectionValues {
  readonly inbox: string | undefined;
  readonly json: boolean;
  readonly "dry-run": boolean;
}

/** Changing jobs by hand, whichever verb it is. */
export interface Change extends Verb {
  /** As in `Would replay` and `Replayed`. */
  readonly verb: "replay" | "drop";
  readonly did: string;
  /** Which of those that were named it leaves. */
  readonly left: string;
  readonly run: (
    jobs: Jobs,
    selection: Selection,
    options: { readonly dryRun: boolean },
  ) => Promise<{ readonly count: number }>;
}

/** Does it, or tells what it would do, and says how many of what. */
export async function change(kind: Change, values: ChangeValues, io: Io): Promise<ExitCode> {
  const { inbox: file, json, "dry-run": dryRun, ...named } = values;
  const selection = toSelection(named, kind, Date.now());
  return withInbox({ file, io, use: dryRun ? "look" : "change" }, async (inbox) => {
    const { count } = await stoppable(io, inbox.receiver, () => kind.run(inbox.receiver.jobs, selection, { dryRun }));
    const found = dryRun ? await tallyOf(inbox.receiver.jobs, selection) : [];
    const asked: Asked = { ...kind, selection, json };
    await (dryRun ? tellDry(asked, { count, found }, inbox) : tell(asked, count, inbox));
    const ids = new Set(named.ids).size;
    if (count >= ids) return EXIT.done;
    io.stderr.write(`${grouped(ids - count)} of the ${grouped(ids)} named: not there, or ${kind.left}.\n`);
    return EXIT.failed;
  });
}

interface Asked extends Change {
  readonly selection: Selection;
  readonly json: boolean;
}

interface Found {
  readonly count: number;
  readonly found: readonly Tallied[];
}

async function tellDry({ verb, json }: Asked, { count, found }: Found, { printer, stdout }: OpenInbox): Promise<void> {
  const would = `Would ${verb} ${jobs(count)}`;
  const lines = found.length === 0 ? [`${would}.`] : [`${would}. Found:`, ...tallyLines(found, stdout)];
  await printer.print(json ? [toJsonLine({ dryRun: true, count, found })] : lines);
}

async function tell({ verb, did, selection, json }: Asked, count: number, inbox: OpenInbox): Promise<void> {
  const lines = [`${did} ${jobs(count)}${described(selection)}.`];
  if (verb === "replay" && count > 0 && !inbox.facts.isWorkedOn)
    lines.push("No process works on this file: they run once a receiver starts on it.");
  await inbox.printer.print(json ? [toJsonLine({ dryRun: false, count })] : lines);
}

function jobs(count: number): string {
  return `${grouped(count)} ${count === 1 ? "job" : "jobs"}`;
}

/** The filter in words. */
function described(selection: Selection): string {
  if (typeof selection === "string" || Array.isArray(selection)) return "";
  const told = Object.entries(selection).filter(([, value]) => value !== undefined);
  const words = told.map(([name, value]) => `${name} ${value instanceof Date ? value.toISOString() : String(value)}`);
  return `: ${words.join(", ")}`;
}

/** A signal ends it between two pages; a second one ends the process. */
export async function stoppable<T>(io: Io, receiver: Pick<Receiver, "close">, run: () => Promise<T>): Promise<T> {
  const stopping = listenForStop(io);
  void stopping.asked.then(() => receiver.close({ drainMs: 0 }));
  try {
    return await run();
  } finally {
    stopping.forget();
  }
}
