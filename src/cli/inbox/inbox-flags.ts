import type { EventName, JobFilter, JobState, Selection } from "../../index.ts";
import type { ManyArguments, ValueFlag } from "../arguments.ts";
import { CommandError } from "../command-error.ts";
import { EXIT } from "../exit-codes.ts";
import { switchFlag } from "../flags.ts";
import { momentFlag, type Moment } from "./time-flag.ts";

const STATES: readonly JobState[] = ["waiting", "running", "done", "skipped", "dead", "unhandled"];

const stateFlag: ValueFlag<readonly JobState[] | undefined> = {
  expects: `one of ${STATES.join(", ")}, or several with commas between them`,
  read(text) {
    const states = text.split(",").map((word) => STATES.find((state) => state === word));
    return states.every((state) => state !== undefined) ? states : undefined;
  },
  default: undefined,
};

/** The number of an account, a subscription or a job. */
export const NUMBER = {
  expects: "a number, such as 2002",
  read: (text: string): number | undefined =>
    /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined,
} as const;

const numberFlag: ValueFlag<number | undefined> = { ...NUMBER, default: undefined };

/** A name; which there are, the file knows. */
export function textFlag(expects: string): ValueFlag<string | undefined> {
  return { expects, read: (text) => (text === "" ? undefined : text), default: undefined };
}

/** Which jobs: all that is given must hold. */
export const FILTER_FLAGS = {
  state: stateFlag,
  type: textFlag("the name of an event or of a family, such as email.created or email"),
  account: numberFlag,
  subscription: numberFlag,
  consumer: textFlag("the name of a consumer"),
  since: momentFlag,
  until: momentFlag,
} as const;

const ids: ManyArguments<string> = {
  argument: "ID",
  many: true,
  expects: "the number of a job",
  read: (text) => (NUMBER.read(text) === undefined ? undefined : text),
};

/** What a command that changes jobs takes to choose them. */
export const SELECTION_FLAGS = { ids, ...FILTER_FLAGS, dead: switchFlag } as const;

export interface FilterValues {
  readonly state: readonly JobState[] | undefined;
  readonly type: string | undefined;
  readonly account: number | undefined;
  readonly subscription: number | undefined;
  readonly consumer: string | undefined;
  readonly since: Moment | undefined;
  readonly until: Moment | undefined;
}

export interface SelectionValues extends FilterValues {
  readonly ids: readonly string[];
  readonly dead: boolean;
}

/** @param now milliseconds since the epoch */
export function toFilter(
  values: FilterValues,
  now: number,
): JobFilter & { readonly state: readonly JobState[] | undefined } {
  const { state, type, account, subscription, consumer, since, until } = values;
  return {
    state,
    // Whether there is such an event, the receiver says.
    type: type as EventName | undefined,
    accountId: account,
    subscription,
    consumer,
    // "Since" means from then on; the filter's own word is "after".
    receivedAfter: since && new Date(since(now) - 1),
    receivedBefore: until && new Date(until(now)),
  };
}

/** A command that changes jobs. */
export interface Verb {
  readonly verb: string;
  /** In which states a job can be for it. */
  readonly takes: readonly JobState[];
}

/**
 * Jobs by their ids, or by a filter that names its state.
 * @throws CommandError for anything else, and for a state in which the command takes none
 */
export function toSelection(values: SelectionValues, { verb, takes }: Verb, now: number): Selection {
  const { ids: given, dead, ...filter } = values;
  const isFiltered = dead || Object.values(filter).some((value) => value !== undefined);
  if (given.length > 0 && isFiltered) throw usage("Got ids and a filter, expected one of them.");
  if (given.length > 0) return given;
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
