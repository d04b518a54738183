import type { InboxDisk } from "../../inbox/port/inbox-stats.ts";
import { countOf, toProblem, type Problem } from "./problem.ts";
import type { ProblemCode } from "./problem-catalog.ts";

/** So long it is told what happened to the file of an inbox, milliseconds: a disk that begins to fail is not well after a minute. */
const LATELY_MS = 60 * 60 * 1_000;

/** What has become of an inbox's file on its disk, where it takes deliveries again. */
export function diskProblems(disk: InboxDisk | undefined, now: number): readonly Problem[] {
  if (disk === undefined) return [];
  const { names = 1, isBlind = false } = disk;
  return [
    ...lateProblems("inbox-reopened", disk.reopened, now),
    ...(isBlind ? [toProblem("inbox-unwatched")] : []),
    ...(names > 1 ? [toProblem("hard-linked", { got: `Now: ${countOf(names, "name")}.` })] : []),
    ...lateProblems("work-taken", disk.takenOver, now),
  ];
}

function lateProblems(code: ProblemCode, happened: InboxDisk["reopened"], now: number): readonly Problem[] {
  if (happened === undefined || now - happened.lastAt > LATELY_MS) return [];
  const times = countOf(happened.count, "time");
  const got = `Since the start of this process: ${times}, last at ${new Date(happened.lastAt).toISOString()}.`;
  return [toProblem(code, { got })];
}
