import type { InboxDisk } from "../../inbox/inbox-stats.ts";
import { countOf, toProblem, type Problem } from "./problem.ts";

/** So long it is told that the file of an inbox had to be opened anew, milliseconds: a disk that begins to fail is not well after a minute. */
const LATELY_MS = 60 * 60 * 1_000;

/** What the disk of an inbox has done lately, where it takes deliveries again. */
export function diskProblems(disk: InboxDisk | undefined, now: number): readonly Problem[] {
  const blind = disk?.isBlind === true ? [toProblem("inbox-unwatched")] : [];
  const reopened = disk?.reopened;
  if (reopened === undefined || now - reopened.lastAt > LATELY_MS) return blind;
  const times = countOf(reopened.count, "time");
  const got = `Since the start of this process: ${times}, last at ${new Date(reopened.lastAt).toISOString()}.`;
  return [toProblem("inbox-reopened", { got }), ...blind];
}
