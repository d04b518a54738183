import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import type { Jobs, Selection } from "../../index.ts";
import type { ValuesOf } from "../arguments.ts";
import { CommandError, defineCommand, EXIT, type ExitCode, type Io } from "../command.ts";
import { ID_NUMBER, nonEmpty, RATE } from "../flags.ts";
import { stoppable } from "../signals.ts";
import { toJsonLine } from "../terminal/escape-terminal.ts";
import { grouped } from "../terminal/format.ts";
import { DRY_RUN_FLAG, INBOX_FLAGS, SELECTION_FLAGS, toSelection, type JobChange } from "./inbox-flags.ts";
import { version } from "../version.ts";
import { countJobs, countLines } from "./read-jobs.ts";
import { withInbox } from "./with-inbox.ts";

const CHANGE_FLAGS = { ...SELECTION_FLAGS, ...INBOX_FLAGS, ...DRY_RUN_FLAG } as const;

/** @param states those that the command takes */
function stateFlag(states: string) {
  return { ...CHANGE_FLAGS.state, about: `Jobs that are ${states}; several with commas between them.` };
}

const CHANGE_NOTES =
  "A receiver may run on the inbox. On a file the process that works on it carries the change out. Where none does, and in PostgreSQL, the change is made at once.";

const CHANGE_EXITS = {
  [EXIT.failed]: "Failed, or not all that were named were changed: stderr says why.",
  [EXIT.queued]:
    "Not in PostgreSQL. The process that works on the file did not answer in time. The change is queued in the file and will be done: do not repeat it. Its number is on stderr.",
};

/** `hookline inbox replay`: runs jobs again. */
export const replayCommand = defineCommand({
  name: "inbox replay",
  summary: "Run jobs again: by id, all dead ones, or by a filter.",
  help: {
    usage: `hookline inbox replay <id>... --inbox <inbox> [flags]
hookline inbox replay --dead --inbox <inbox> [filters] [flags]`,
    about: `Run jobs again: each becomes a new job at the end of its lane.

  hookline inbox replay 17 21 --inbox inbox.db
  hookline inbox replay --dead --type email --since 2d --dry-run
  hookline inbox replay --state done --since 2h --rate 20

It takes jobs that are done, dead or unhandled and have a consumer; those that wait or run are left. A dead one
stops being dead. A filter must name the state, and all given filters must hold.`,
    notes: `${CHANGE_NOTES} Ctrl-C stops it between two pages.`,
    exits: CHANGE_EXITS,
  },
  flags: {
    ...CHANGE_FLAGS,
    state: stateFlag("done, skipped, dead or unhandled"),
    rate: { ...RATE, value: "<n>", about: "At most so many a second, such as 50 or 0.5." },
  },
  run: ({ rate: perSecond, ...values }, io) =>
    changeJobs(
      {
        verb: "replay",
        past: "Replayed",
        takes: ["done", "skipped", "dead", "unhandled"],
        left: "waiting, running, or of no consumer",
        run: (jobs, selection, dryRun) => jobs.replay(selection, { dryRun, perSecond }),
      },
      values,
      io,
    ),
});

/** `hookline inbox drop`: deletes jobs. */
export const dropCommand = defineCommand({
  name: "inbox drop",
  summary: "Delete jobs that wait, are dead or unhandled.",
  help: {
    usage: `hookline inbox drop <id>... --inbox <inbox> [flags]
hookline inbox drop --dead --inbox <inbox> [filters] [flags]`,
    about: `Delete jobs, so that they are never handled. It does not ask: try --dry-run.

  hookline inbox drop 17 --inbox inbox.db
  hookline inbox drop --state dead,unhandled --until 2026-11-01 --dry-run

It takes jobs that wait, are dead or unhandled; one that runs is left while its process lives. A filter must name the
state, and all given filters must hold.`,
    notes: CHANGE_NOTES,
    exits: CHANGE_EXITS,
  },
  flags: { ...CHANGE_FLAGS, state: stateFlag("waiting, dead or unhandled") },
  run: (values, io) =>
    changeJobs(
      {
        verb: "drop",
        past: "Dropped",
        takes: ["waiting", "dead", "unhandled"],
        left: "running, done or skipped",
        run: (jobs, selection, dryRun) => jobs.drop(selection, { dryRun }),
      },
      values,
      io,
    ),
});

/** `hookline inbox erase`: deletes all data of one account. */
export const eraseCommand = defineCommand({
  name: "inbox erase",
  summary: "Delete all jobs and deliveries of one account.",
  help: {
    usage: "hookline inbox erase --account <n> --inbox <inbox> [flags]",
    about: `Delete all that is stored of one account: every job and every delivery, whatever their state. It does not ask: try
--dry-run.

Running handlers of the account get an abort signal. The output counts jobs; deliveries without jobs are deleted too.`,
    notes: CHANGE_NOTES,
    exits: CHANGE_EXITS,
  },
  flags: {
    account: { ...ID_NUMBER, value: "<n>", about: "The account.", required: true },
    report: {
      ...nonEmpty("the path of a new file"),
      value: "<file>",
      about: "Write what was deleted, and where copies may remain, to this new file: JSON, without content.",
    },
    ...INBOX_FLAGS,
    ...DRY_RUN_FLAG,
  },
  run({ account, report: path, inbox, schema, json, "dry-run": dryRun }, io) {
    return withInbox({ inbox, schema, io, access: dryRun ? "read" : "change" }, async ({ receiver, printer }) => {
      const found = await countJobs(receiver.jobs, { accountId: account });
      const report = dryRun || path === undefined ? undefined : openReport(resolve(io.cwd ?? ".", path));
      if (!dryRun)
        try {
          const erasure = await stoppable(
            io,
            () => receiver.close({ drainMs: 0 }),
            () => receiver.jobs.erase(account),
          );
          report?.write({ hookline: version(), erasedAt: new Date(), account, ...erasure });
        } finally {
          report?.close();
        }
      const count = found.reduce((sum, kind) => sum + kind.count, 0);
      const what = count === 0 ? "it had no jobs" : "its jobs, with their deliveries";
      await printer.print(
        json
          ? [toJsonLine({ dryRun, account, count, found })]
          : [`${dryRun ? "Would erase" : "Erased"} account ${account}: ${what}.`, ...countLines(found, io.stdout)],
      );
      return EXIT.done;
    });
  },
});

/**
 * Made before anything is erased: of what is gone nothing can be reported later.
 * @throws CommandError where it cannot be made
 */
function openReport(path: string) {
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (cause) {
    throw new CommandError(
      EXIT.failed,
      `--report ${path} cannot be made: ${(cause as Error).message}. Nothing was erased.`,
      { cause },
    );
  }
  let isWritten = false;
  return {
    write(report: object): void {
      writeSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
      fsyncSync(file);
      isWritten = true;
    },
    /** An empty one goes. */
    close(): void {
      closeSync(file);
      if (!isWritten) unlinkSync(path);
    },
  };
}

interface ChangeKind extends JobChange {
  /** As in `Replayed 2 jobs`. */
  readonly past: string;
  /** Which of the named jobs it leaves. */
  readonly left: string;
  readonly run: (jobs: Jobs, selection: Selection, dryRun: boolean) => Promise<{ readonly count: number }>;
}

/** Changes jobs, or tells what the change would do. */
function changeJobs(kind: ChangeKind, values: ValuesOf<typeof CHANGE_FLAGS>, io: Io): Promise<ExitCode> {
  const { inbox, schema, json, "dry-run": dryRun, ...named } = values;
  const { verb, past, left, run } = kind;
  const selection = toSelection(named, kind, Date.now());
  return withInbox(
    { inbox, schema, io, access: dryRun ? "read" : "change" },
    async ({ receiver, printer, isWorkedOn }) => {
      const { count } = await stoppable(
        io,
        () => receiver.close({ drainMs: 0 }),
        () => run(receiver.jobs, selection, dryRun),
      );
      if (dryRun) {
        const found = await countJobs(receiver.jobs, selection);
        const would = `Would ${verb} ${jobsText(count)}.`;
        const lines = found.length === 0 ? [would] : [`${would} Found:`, ...countLines(found, io.stdout)];
        await printer.print(json ? [toJsonLine({ dryRun, count, found })] : lines);
      } else {
        const lines = [`${past} ${jobsText(count)}${selectionText(selection)}.`];
        if (verb === "replay" && count > 0 && !(await isWorkedOn()))
          lines.push("No process works on this inbox: they run once a receiver starts on it.");
        await printer.print(json ? [toJsonLine({ dryRun, count })] : lines);
      }
      const ids = new Set(named.ids).size;
      if (count >= ids) return EXIT.done;
      io.stderr.write(`${grouped(ids - count)} of the ${grouped(ids)} named: not there, or ${left}.\n`);
      return EXIT.failed;
    },
  );
}

function jobsText(count: number): string {
  return `${grouped(count)} ${count === 1 ? "job" : "jobs"}`;
}

/** The filter in words. */
function selectionText(selection: Selection): string {
  if (typeof selection === "string" || Array.isArray(selection)) return "";
  const fields = Object.entries(selection).filter(([, value]) => value !== undefined);
  const texts = fields.map(([name, value]) => `${name} ${value instanceof Date ? value.toISOString() : String(value)}`);
  return `: ${texts.join(", ")}`;
}
