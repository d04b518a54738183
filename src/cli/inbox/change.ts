import type { Jobs, Receiver, Selection } from "../../index.ts";
import type { Io } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { grouped } from "../send/units.ts";
import { listenForStop } from "../stopping.ts";
import { withInbox, type OpenInbox } from "./open-inbox.ts";
import { toJsonLine } from "./plain.ts";
import { tallyLines, tallyOf, type Tallied } from "./tally.ts";

/** Changing jobs by hand, whichever verb it is. */
export interface Change {
  /** As in `Would replay` and `Replayed`. */
  readonly verb: "replay" | "drop";
  readonly did: string;
  /** Which of those that were named it leaves. */
  readonly left: string;
  readonly selection: Selection;
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly run: (jobs: Jobs, options: { readonly dryRun: boolean }) => Promise<{ readonly count: number }>;
}

/** Does it, or tells what it would do, and says how many of what. */
export function change(file: string | undefined, given: Change, io: Io): Promise<ExitCode> {
  const { dryRun, selection, run } = given;
  return withInbox({ file, io, use: dryRun ? "look" : "change" }, async (inbox) => {
    const { count } = await stoppable(io, inbox.receiver, () => run(inbox.receiver.jobs, { dryRun }));
    const found = dryRun ? await tallyOf(inbox.receiver.jobs, selection) : [];
    await (dryRun ? tellDry(given, { count, found }, inbox) : tell(given, count, inbox));
    const named = typeof selection === "string" || Array.isArray(selection) ? new Set([selection].flat()).size : 0;
    if (count >= named) return EXIT.done;
    io.stderr.write(`${grouped(named - count)} of the ${grouped(named)} named: not there, or ${given.left}.\n`);
    return EXIT.failed;
  });
}

interface Found {
  readonly count: number;
  readonly found: readonly Tallied[];
}

async function tellDry({ verb, json }: Change, { count, found }: Found, { printer, stdout }: OpenInbox): Promise<void> {
  const would = `Would ${verb} ${jobs(count)}`;
  const lines = found.length === 0 ? [`${would}.`] : [`${would}. Found:`, ...tallyLines(found, stdout)];
  await printer.print(json ? [toJsonLine({ dryRun: true, count, found })] : lines);
}

async function tell({ verb, did, selection, json }: Change, count: number, inbox: OpenInbox): Promise<void> {
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
