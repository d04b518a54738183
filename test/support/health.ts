import type { Health, Receiver } from "hookline";
import { PROBLEMS } from "../../src/receiver/health/problem-catalog.ts";

type Problem = Health["problems"][number];

/** The codes of the current problems. */
export async function codesOf(receiver: Receiver): Promise<readonly string[]> {
  return (await receiver.health()).problems.map(({ code }) => code);
}

/** The problems with this code. */
export async function problemsOf(receiver: Receiver, code: string): Promise<readonly Problem[]> {
  return (await receiver.health()).problems.filter((problem) => problem.code === code);
}

/** A problem as `health()` reports it: its meaning, and the actual value. */
export function toReported(code: keyof typeof PROBLEMS, got?: string): Problem {
  const { message, fix } = PROBLEMS[code];
  return { code, message: got === undefined ? message : `${message} ${got}`, fix };
}
