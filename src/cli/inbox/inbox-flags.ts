import type { EventName, JobFilter, JobState, Selection } from "../../index.ts";
import type { ValuesOf } from "../arguments.ts";
import { CommandError, EXIT } from "../command.ts";
import { ID_NUMBER, INBOX_PLACE, nonEmpty, type ValueType } from "../flags.ts";

/** Flags of every command on an inbox. */
export const INBOX_FLAGS = {
  inbox: {
    ...INBOX_PLACE,
    value: "<inbox>",
    about:
      "What the receiver was given: the file of sqliteInbox, or the postgres://... of postgresInbox. Default: $HOOKLINE_INBOX, where other users of the machine see no password.",
  },
  schema: {
    ...nonEmpty("the name of a schema"),
    value: "<name>",
    about: "In PostgreSQL: the schema of the inbox, such as hookline or hookline_crm. Default: the only one there.",
  },
  json: { about: "Print lines of JSON instead of text, for scripts." },
} as const;

export const CONTENT_FLAG = {
  "show-content": {
    about:
      "Show the content too: ids of mail, addresses, bodies. Without it they are left out, also in the messages of errors.",
  },
} as const;

export const DRY_RUN_FLAG = { "dry-run": { about: "Only tell what it would do." } } as const;

const STATES: readonly JobState[] = ["waiting", "running", "done", "skipped", "dead", "unhandled"];

/** Some of these words, with commas between them. */
export function someOf<const W extends string>(words: readonly W[]): ValueType<readonly W[]> {
  return {
    expects: `one of ${words.join(", ")}, or several with commas between them`,
    read(value) {
      const named = value.split(",").map((name) => words.find((word) => word === name));
      return named.every((word) => word !== undefined) ? named : undefined;
    },
  };
}

/** A point in time as it was typed: given the present, milliseconds since the epoch. */
type TypedTime = (now: number) => number;

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** Milliseconds. */
export const SPAN: ValueType<number> = {
  expects: "so long, such as 30m, 2h or 7d",
  read(value) {
    const [, count, unit = ""] = /^([1-9]\d{0,5})([smhdw])$/.exec(value) ?? [];
    return count === undefined ? undefined : Number(count) * (UNIT_MS[unit] as number);
  },
};

const time: ValueType<TypedTime> = {
  expects: "so long ago (30m, 2h, 7d), a date (2026-11-20) or a date and time (2026-11-20T14:30Z); UTC without a zone",
  read(value) {
    const [, count, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(value) ?? [];
    if (count !== undefined) return (now) => now - Number(count) * (UNIT_MS[unit] as number);
    const [, date, clock = "00:00", zone = "Z"] =
      /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(value) ?? [];
    const day = date === undefined ? Number.NaN : Date.parse(date);
    // Date parses 30 February as 2 March.
    if (Number.isNaN(day) || new Date(day).toISOString().slice(0, 10) !== date) return undefined;
    const at = Date.parse(`${date}T${clock}${zone}`);
    return Number.isNaN(at) ? undefined : () => at;
  },
};

/** Which jobs: all given filters must hold. */
export const FILTER_FLAGS = {
  state: {
    ...someOf(STATES),
    value: "<state>",
    about: "Jobs that are waiting, running, done, skipped, dead or unhandled; several with commas between them.",
  },
  type: {
    ...nonEmpty("the name of an event or of a family, such as email.created or email"),
    value: "<type>",
    about: 'The name of an event or a family: email.created, email, "*".',
  },
  account: { ...ID_NUMBER, value: "<n>", about: "Jobs of this account." },
  subscription: { ...ID_NUMBER, value: "<n>", about: "Jobs of this subscription." },
  consumer: { ...nonEmpty("the name of a consumer"), value: "<name>", about: "Jobs of this consumer." },
  error: {
    ...nonEmpty("the name of an error, such as TypeError"),
    value: "<name>",
    about: "Jobs whose last error has this name, such as TypeError.",
  },
  since: {
    ...time,
    value: "<time>",
    about:
      "Received since then: so long ago (30m, 2h, 7d), a date (2026-11-20), or a date and time (2026-11-20T14:30Z). UTC without a zone.",
  },
  until: { ...time, value: "<time>", about: "Received before then." },
} as const;

/** @param now milliseconds since the epoch */
export function toFilter(
  values: ValuesOf<typeof FILTER_FLAGS>,
  now: number,
): JobFilter & { readonly state: readonly JobState[] | undefined } {
  const { state, type, account, subscription, consumer, error, since, until } = values;
  return {
    state,
    // The receiver checks that there is such an event.
    type: type as EventName | undefined,
    accountId: account,
    subscription,
    consumer,
    error,
    // "Since" includes the time given, the filter's "after" does not.
    receivedAfter: since && new Date(since(now) - 1),
    receivedBefore: until && new Date(until(now)),
  };
}

/** Which jobs a command changes: ids, or a filter that names the state. */
export const SELECTION_FLAGS = {
  ids: {
    expects: "the number of a job",
    read: (value: string) => (ID_NUMBER.read(value) === undefined ? undefined : value),
    argument: "ID",
    many: true,
  },
  dead: { about: "Jobs that failed for good, the same as --state dead." },
  ...FILTER_FLAGS,
} as const;

/** A command that changes jobs. */
export interface JobChange {
  readonly verb: string;
  /** The states of jobs that it takes. */
  readonly takes: readonly JobState[];
}

/** @throws CommandError for ids with a filter, a filter without a state, and a state whose jobs the command does not take */
export function toSelection(
  { ids, dead, ...filter }: ValuesOf<typeof SELECTION_FLAGS>,
  { verb, takes }: JobChange,
  now: number,
): Selection {
  const isFiltered = dead || Object.values(filter).some((value) => value !== undefined);
  if (ids.length > 0 && isFiltered) throw usage("Got ids and a filter, expected one of them.");
  if (ids.length > 0) return ids;
  if (!isFiltered) throw usage("Got neither ids nor a filter. Say which jobs: their ids, or --dead.");
  if (dead && filter.state !== undefined) throw usage("Got --dead and --state, expected one of them.");
  const state = dead ? (["dead"] as const) : filter.state;
  if (state === undefined) throw usage("Got a filter without a state. Say which jobs: --dead, or --state.");
  const others = state.filter((one) => !takes.includes(one));
  if (others.length > 0)
    throw usage(
      `${verb} takes no jobs that are ${listed(others)}, only those that are ${listed(takes)}: --state names them.`,
    );
  return { ...toFilter(filter, now), state };
}

function listed(states: readonly JobState[]): string {
  return [states.slice(0, -1).join(", "), states.at(-1)].filter(Boolean).join(" or ");
}

function usage(message: string): CommandError {
  return new CommandError(EXIT.usage, message);
}
