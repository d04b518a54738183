import type { GapCount } from "../inbox/port/gaps.ts";
import { countOf } from "../receiver/health/checks.ts";
import type { CatchUp } from "./catch-up.ts";
import { toProblem, type Problem } from "../receiver/health/problem-catalog.ts";

/** Families whose records the service lists by what changed. @see protocol 4.1, "Calendar sync" and "Email sync" */
export const LISTED_FAMILIES: readonly string[] = ["email", "calendarEvent", "contact", "task"];

/** Where else to look, by family. */
const LOOKED_THROUGH: Readonly<Record<string, (from: string) => string>> = {
  tracking: (from) => `\`trackingOf(client).events({ from: "${from}" })\` lists them`,
  booking: () => 'the calendar of the profile has them: `calendar("primary").events`',
};

/**
 * What no handler ends.
 * @param handled families with a `.changes` handler in this process; undefined where it has no handlers at all
 */
export function gapProblems(counts: readonly GapCount[], handled: readonly string[] | undefined): readonly Problem[] {
  return counts.flatMap((count) => {
    const detail = describe(count);
    const clear = `run \`hookline inbox gaps clear --family ${count.family}\``;
    if (!LISTED_FAMILIES.includes(count.family))
      return toProblem("gap-unlisted", { detail, fix: `${lookedThrough(count)}, then ${clear}.` });
    // While it goes on, the subscription's error is a problem of its own.
    if (count.open === count.count || handled === undefined || handled.includes(count.family)) return [];
    const fix = `Register \`receiver.on("${count.family}.changes", handler)\`, or \`deltaSync\`; or fetch what changed by hand, then ${clear}.`;
    return toProblem("gap-unhandled", { detail, fix });
  });
}

function lookedThrough({ family, from }: GapCount): string {
  const where = LOOKED_THROUGH[family]?.(timeText(from));
  return `Compare your copy with the service by hand${where === undefined ? "" : ` (${where})`}`;
}

/** What its handler could not be told of, again and again. */
export function failingProblems({ count, isUnread }: ReturnType<CatchUp["failing"]>): readonly Problem[] {
  if (isUnread) return [toProblem("gap-failing", { detail: "The inbox cannot read them." })];
  return count === 0 ? [] : [toProblem("gap-failing", { detail: `It is so with ${countOf(count, "resource")}.` })];
}

function describe({ family, count, open, from, until }: GapCount): string {
  const goingOn = open === 0 ? "" : ` and ${open === count ? "it goes on" : `${open} of them go on`}`;
  const end = until === undefined ? "" : ` until ${timeText(until)}`;
  return `It is ${countOf(count, "resource")} of ${family}, since ${timeText(from)}${end}${goingOn}.`;
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
