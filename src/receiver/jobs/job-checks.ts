import { UsageError } from "../../errors.ts";
import type { JobState } from "../../inbox/port/job.ts";
import { HANDLER_NAMES } from "../../protocol/event-names.ts";

/** What a field may hold. */
interface Check {
  readonly expected: string;
  readonly holds: (value: unknown) => boolean;
  readonly fix?: string;
}

/** Fields by their names. */
export type Checks = Readonly<Record<string, Check>>;

const ID: Check = { expected: "its number", holds: Number.isSafeInteger };
const DATE: Check = {
  expected: "a valid Date",
  holds: (value) => value instanceof Date && !Number.isNaN(value.getTime()),
};
const STATES: readonly unknown[] = [
  "waiting",
  "running",
  "done",
  "skipped",
  "dead",
  "unhandled",
] satisfies readonly JobState[];

/** Of a `JobFilter`, with its state. */
export const FILTER_CHECKS: Checks = {
  type: {
    expected: "the name of an event or of a family",
    holds: (value) => (HANDLER_NAMES as readonly unknown[]).includes(value),
    fix: `Allowed are: ${HANDLER_NAMES.join(", ")}.`,
  },
  accountId: ID,
  subscription: ID,
  consumer: { expected: "the name of a consumer", holds: isText },
  receivedAfter: DATE,
  receivedBefore: DATE,
  state: {
    expected: `one of ${STATES.join(", ")}, or a list of them`,
    holds: (value) => [value].flat().every((state) => STATES.includes(state)),
  },
};

/** Of `list` beyond the filter. */
export const PAGE_CHECKS: Checks = {
  limit: {
    expected: "a whole number from 1 to 1,000",
    holds: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000,
    fix: "Go on with `after` where more are wanted.",
  },
  after: { expected: "what the page before gave as `next`", holds: isText },
};

/** Of `drop`. */
export const DRY_CHECKS: Checks = {
  dryRun: { expected: "true or false", holds: (value) => typeof value === "boolean" },
};

/** Of `replay`. */
export const PACE_CHECKS: Checks = {
  ...DRY_CHECKS,
  perSecond: { expected: "a number above 0", holds: (value) => typeof value === "number" && value > 0 },
};

/**
 * A field that is not known is refused, not passed over: a mistyped one must not widen what is dropped.
 * @throws UsageError `jobs-invalid`
 */
export function assertFields(verb: string, given: unknown, checks: Checks): void {
  const known = Object.keys(checks).join(", ");
  if (typeof given !== "object" || given === null || isList(given))
    throw invalid(verb, shown(given), { expected: `an object of ${known}` });
  for (const [name, value] of Object.entries(given)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) throw invalid(verb, `the unknown field "${name}"`, { expected: `only ${known}` });
    if (value !== undefined && !check.holds(value)) throw invalid(verb, `${name} ${shown(value)}`, check);
  }
}

/** @throws UsageError `jobs-invalid` */
export function assertId(verb: string, id: unknown): void {
  if (typeof id !== "string") throw invalid(verb, `the id ${shown(id)}`, { expected: "a job's id, which is a text" });
}

/** @throws UsageError `jobs-invalid` */
export function assertAccount(verb: string, accountId: unknown): void {
  if (!ID.holds(accountId)) throw invalid(verb, `the account ${shown(accountId)}`, ID);
}

/** True for lists that cannot be changed, too. */
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** A mistake in what a verb of `receiver.jobs` was given. */
export function invalid(verb: string, got: string, { expected, fix }: Pick<Check, "expected" | "fix">): UsageError {
  return new UsageError("jobs-invalid", `jobs.${verb}() got ${got}, expected ${expected}.`, { fix });
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function shown(value: unknown): string {
  if (typeof value === "string") return `"${value}"`;
  if (isList(value)) return `[${value.map(shown).join(", ")}]`;
  return typeof value === "object" && value !== null && !(value instanceof Date) ? "an object" : String(value);
}
