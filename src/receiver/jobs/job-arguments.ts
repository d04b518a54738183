import { UsageError } from "../../errors.ts";
import type { InboxJobs, JobQuery, JobSelection, JobState } from "../../inbox/port/jobs.ts";
import { familyOf, HANDLER_NAMES } from "../../protocol/event-names.ts";
import type { EventName } from "../../protocol/event-types.ts";
import type { JobFilter, Jobs, Selection } from "./jobs-types.ts";

/** A field's allowed values. */
interface Check {
  readonly expected: string;
  readonly holds: (value: unknown) => boolean;
  readonly fix?: string;
}

/** By the field's name. */
type Checks = Readonly<Record<string, Check>>;

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

/** A `JobFilter` with its state. */
const FILTER_CHECKS: Checks = {
  type: {
    expected: "the name of an event or of a family",
    holds: (value) => (HANDLER_NAMES as readonly unknown[]).includes(value),
    fix: `Allowed are: ${HANDLER_NAMES.join(", ")}.`,
  },
  accountId: ID,
  subscription: ID,
  consumer: { expected: "the name of a consumer", holds: isText },
  error: { expected: "the name of an error", holds: isText },
  receivedAfter: DATE,
  receivedBefore: DATE,
  state: {
    expected: `one of ${STATES.join(", ")}, or a list of them`,
    holds: (value) => [value].flat().every((state) => STATES.includes(state)),
  },
};

/** Of `list` beyond the filter. */
const PAGE_CHECKS: Checks = {
  limit: {
    expected: "a whole number from 1 to 1,000",
    holds: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000,
    fix: "Get the next page with `after`.",
  },
  after: {
    expected: "the `next` of the page before",
    // Ids of jobs are growing numbers in every inbox.
    holds: (value) => typeof value === "string" && /^\d+$/.test(value),
  },
  newestFirst: { expected: "true or false", holds: (value) => typeof value === "boolean" },
};

/** Options of `drop`. */
export const DROP_OPTIONS: Checks = {
  dryRun: { expected: "true or false", holds: (value) => typeof value === "boolean" },
};

/** Options of `replay`. */
export const REPLAY_OPTIONS: Checks = {
  ...DROP_OPTIONS,
  perSecond: { expected: "a number above 0", holds: (value) => typeof value === "number" && value > 0 },
};

/**
 * The arguments of `list` as an inbox takes them.
 * @throws UsageError `jobs-invalid`
 */
export function toPage(filter: NonNullable<Parameters<Jobs["list"]>[0]>): Parameters<InboxJobs["find"]>[0] {
  assertFields("list", filter, { ...FILTER_CHECKS, ...PAGE_CHECKS });
  const { after, limit = 50, newestFirst = false } = filter;
  if (newestFirst && filter.state !== "dead")
    throw invalid("list", "newestFirst without the state", { expected: 'it with `state: "dead"` alone' });
  return { ...toQuery(filter), after, limit, ...(newestFirst && { newestFirst }) };
}

/**
 * The filter of `summary` as an inbox takes it.
 * @throws UsageError `jobs-invalid`
 */
export function toCounted(filter: NonNullable<Parameters<Jobs["summary"]>[0]>): JobQuery {
  assertFields("summary", filter, FILTER_CHECKS);
  return toQuery(filter);
}

/**
 * A selection as an inbox takes it, each id once.
 * @throws UsageError `jobs-invalid`
 */
export function toSelection(verb: string, selection: Selection): JobSelection {
  if (typeof selection === "string") return { ids: [selection] };
  if (isList(selection)) {
    for (const id of selection) assertId(verb, id);
    return { ids: [...new Set(selection)] };
  }
  assertFields(verb, selection, FILTER_CHECKS);
  const { states, ...query } = toQuery(selection);
  if (states !== undefined) return { ...query, states };
  throw invalid(verb, "a filter without a state", {
    expected: "one that names its state",
    fix: `Name one, jobs.${verb}({ state: "dead" }), or several in a list; no filter means "all".`,
  });
}

/**
 * Refuses unknown fields: a mistyped one must not widen what is dropped.
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

/** `Array.isArray` that narrows readonly arrays, too. */
function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function invalid(verb: string, got: string, { expected, fix }: Pick<Check, "expected" | "fix">): UsageError {
  return new UsageError("jobs-invalid", `jobs.${verb}() got ${got}, expected ${expected}.`, { fix });
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "" && !value.includes("\0"); // no storage holds NUL
}

function shown(value: unknown): string {
  if (typeof value === "string") return `"${value}"`;
  if (isList(value)) return `[${value.map(shown).join(", ")}]`;
  return typeof value === "object" && value !== null && !(value instanceof Date) ? "an object" : String(value);
}

function toQuery({
  type,
  state,
  receivedAfter,
  receivedBefore,
  ...rest
}: JobFilter & { readonly state?: JobState | readonly JobState[] | undefined }): JobQuery {
  return {
    states: state === undefined ? undefined : [state].flat(),
    types: type === undefined ? undefined : typesOf(type),
    accountId: rest.accountId,
    subscription: rest.subscription,
    consumer: rest.consumer,
    error: rest.error,
    receivedAfter: receivedAfter?.getTime(),
    receivedBefore: receivedBefore?.getTime(),
  };
}

/** The events that a handler of this name gets: jobs are of single events, never families and batches. */
function typesOf(name: EventName): readonly string[] {
  if (name === "*") return SINGLE.filter((type) => type !== "unknown");
  if (isBatch(name)) return SINGLE.filter((type) => familyOf(type) === familyOf(name));
  const members = SINGLE.filter((type) => type.startsWith(`${name}.`) && !type.endsWith(".signal"));
  return members.length > 0 ? members : [name];
}

const SINGLE = HANDLER_NAMES.filter(
  (name) => name !== "*" && !isBatch(name) && !HANDLER_NAMES.some((other) => other.startsWith(`${name}.`)),
);

function isBatch(name: string): boolean {
  return name.endsWith(".changes");
}
