import { SIGNATURE_PROBLEMS, type SignatureProblem } from "../../protocol/signature-headers.ts";
import type { RefusalCode } from "../../ingest/responses.ts";
import type { RecentRefusals } from "./recent-refusals.ts";
import { toProblem, type Problem } from "./problem.ts";
import type { ProblemCode } from "./problem-catalog.ts";

/** One that anybody can cause is a problem only when it repeats. */
const SEVERAL = 5;

const CLOCK: readonly SignatureProblem[] = ["timestamp-stale", "timestamp-future"];
const FORGED: readonly RefusalCode[] = [
  ...(Object.keys(SIGNATURE_PROBLEMS) as SignatureProblem[]).filter((code) => !CLOCK.includes(code)),
  "secret-unknown",
];

const WATCHED: readonly (readonly [problem: ProblemCode, refusals: readonly RefusalCode[]])[] = [
  ["body-consumed", ["body-consumed"]],
  ["body-too-large", ["body-too-large"]],
  ["content-encoding", ["content-encoding"]],
  ["intake-full", ["intake-full"]],
  ["inbox-too-small", ["inbox-full"]],
  ["secret-lookup-failing", ["secret-lookup-failed", "secret-lookup-late"]],
  ["internal", ["internal"]],
];

/** What is still so says more than that it was. */
const SAID_BY: Partial<Record<ProblemCode, ProblemCode>> = {
  "intake-full": "intake-full",
  "inbox-too-small": "inbox-full",
};

/** What requests were refused for lately, where it will not end by itself. @param told that this is so now */
export function refusedProblems(recent: RecentRefusals, told: ReadonlySet<string>): readonly Problem[] {
  const problems: Problem[] = [];
  if (recent.sinceStored(["storage-failed", "storage-late"])) problems.push(toProblem("storage-failing"));
  for (const [problem, refusals] of WATCHED) {
    const found = told.has(SAID_BY[problem] ?? "") ? undefined : recent.of(refusals);
    if (found !== undefined) problems.push(toProblem(problem, { got: seen(found.count, found.at), fix: found.fix }));
  }
  const forged = recent.of(FORGED);
  // Beside deliveries that verify, they are a stranger's.
  if (forged !== undefined && forged.alone >= SEVERAL)
    problems.push(toProblem("nothing-verifies", { got: seen(forged.alone, forged.at) }));
  const untimely = recent.of(CLOCK);
  if (untimely !== undefined && untimely.count >= SEVERAL)
    problems.push(toProblem("clock-suspect", { got: seen(untimely.count, untimely.at) }));
  return problems;
}

function seen(count: number, at: number): string {
  return `Seen ${count === 1 ? "once" : `${count} times, last`} at ${new Date(at).toISOString()}.`;
}
