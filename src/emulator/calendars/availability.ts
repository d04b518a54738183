import { intersection, union, type Interval } from "./intervals.ts";
import { clockSteps } from "./work-hours.ts";

/** A search for times of a meeting. */
export interface MeetingSearch {
  /** The meeting begins and ends in it. */
  readonly window: Interval;
  readonly durationMinutes: number;
  /** What must be free after the meeting; it need not be inside work hours. */
  readonly bufferBetweenMinutes: number;
  /** A meeting starts when the clock of `timezone` shows a whole number of steps since midnight. */
  readonly availabilityStep: number;
  readonly timezone: string;
  /** Lists of times, such as the work hours of each attendee: the meeting lies in an interval of every list. */
  readonly inside: readonly (readonly Interval[])[];
  readonly busy: Iterable<Interval>;
}

const MINUTE_MS = 60_000;

/** All times at which the meeting can be, in order. They overlap where the step is shorter than the meeting. */
export function* availableTimes(search: MeetingSearch): Iterable<Interval> {
  const { window, durationMinutes, bufferBetweenMinutes, availabilityStep, timezone } = search;
  const allowed = search.inside.map(union).reduce(intersection, union([window]));
  const busy = union(search.busy);
  let [inAllowed, inBusy] = [0, 0];
  for (const startMs of clockSteps(availabilityStep, timezone, window)) {
    const endMs = startMs + durationMinutes * MINUTE_MS;
    while ((allowed[inAllowed]?.endMs ?? Infinity) <= startMs) inAllowed += 1;
    while ((busy[inBusy]?.endMs ?? Infinity) <= startMs) inBusy += 1;
    const { startMs: from, endMs: to } = allowed[inAllowed] ?? NEVER;
    const busyFrom = busy[inBusy]?.startMs ?? Infinity;
    if (from <= startMs && endMs <= to && endMs + bufferBetweenMinutes * MINUTE_MS <= busyFrom)
      yield { startMs, endMs };
  }
}

const NEVER: Interval = { startMs: Infinity, endMs: -Infinity };
