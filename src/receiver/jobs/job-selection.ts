import type { JobState } from "../../inbox/port/job.ts";
import type { JobQuery, JobSelection } from "../../inbox/port/jobs.ts";
import type { EventName } from "../../protocol/events.ts";
import { familyOf, HANDLER_NAMES } from "../../protocol/event-names.ts";
import { assertFields, assertId, FILTER_CHECKS, invalid, isList, PAGE_CHECKS } from "./job-checks.ts";
import type { JobFilter, Jobs, Selection } from "./jobs-types.ts";

/**
 * What `list` was given, as an inbox takes it.
 * @throws UsageError `jobs-invalid`
 */
export function toPage(
  filter: NonNullable<Parameters<Jobs["list"]>[0]>,
): JobQuery & { readonly after: string | undefined; readonly limit: number } {
  assertFields("list", filter, { ...FILTER_CHECKS, ...PAGE_CHECKS });
  const { after, limit = 50 } = filter;
  return { ...toQuery(filter), after, limit };
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
    fix: `Say which: jobs.${verb}({ state: "dead" }). Several stand in a list; nothing in a filter means "all".`,
  });
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
    receivedAfter: receivedAfter?.getTime(),
    receivedBefore: receivedBefore?.getTime(),
  };
}

/** The events that a handler of this name would get: stored are single ones, never the families and batches that they make up. */
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
