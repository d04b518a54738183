import { fixOf, isHooklineError } from "../../errors.ts";
import { describeThrown } from "../../thrown.ts";
import type { Health } from "../receiver-types.ts";
import { PROBLEMS, type ProblemCode } from "./problem-catalog.ts";

/** What `health()` says of one thing that somebody should look at. */
export type Problem = Health["problems"][number];

/** What is known beyond the table. */
export interface ProblemDetail {
  /** What was got: sentences after the meaning. */
  readonly got?: string | undefined;
  /** The exact fix, where it is known better than in the table. */
  readonly fix?: string | undefined;
}

/** A problem as the table describes it, with what was got. */
export function toProblem(code: ProblemCode, { got, fix }: ProblemDetail = {}): Problem {
  const { meaning, fix: usual } = PROBLEMS[code];
  return { code, message: got === undefined ? meaning : `${meaning} ${got}`, fix: fix ?? usual };
}

/** What an error of ours says. Another's text may hold addresses, and belongs in the log. */
export function detailOf(error: unknown): ProblemDetail {
  if (!isHooklineError(error)) return {};
  const { message } = describeThrown(error);
  const fix = fixOf(error);
  // Its message ends with its fix, which has a place of its own here.
  const got = fix !== undefined && message.endsWith(fix) ? message.slice(0, -fix.length).trimEnd() : message;
  return { got, fix };
}

/** Such as "1 job", "2 jobs". */
export function countOf(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}
