import type { MailboxRecord } from "../accounts/mailbox.ts";
import { moveSpan, spanOf, type Span } from "./event-times.ts";
import { toEvent, toOccurrence } from "./event-view.ts";
import { exceptionStarts, fieldsAt, seriesOf, toKey, type Series } from "./series.ts";

/** Milliseconds since the epoch. */
export interface Window {
  readonly timeMin: number;
  readonly timeMax: number;
}

/** One happening of an event in time. */
export interface Instance {
  readonly startMs: number;
  readonly endMs: number;
  /** Of an occurrence, before it was moved; 0 of an event that does not repeat. */
  readonly originalStartMs: number;
  /** An event that does not repeat, or an occurrence, as the API shows it but for its `calendarId`. */
  readonly event: MailboxRecord;
}

/**
 * Those whose end is after `timeMin` and whose start is before `timeMax`, in order of start.
 *
 * @param records events of a calendar, in which a series is one record. One without times that can be read has no instance.
 */
export function instancesBetween(records: Iterable<MailboxRecord>, window: Window): readonly Instance[] {
  const isWithin = ({ startMs, endMs }: Instance): boolean => endMs > window.timeMin && startMs < window.timeMax;
  const found: Instance[] = [];
  for (const record of records) {
    const series = seriesOf(record);
    for (const instance of series === undefined ? singleOf(record) : occurrencesOf(series, window))
      if (isWithin(instance)) found.push(instance);
  }
  return found.toSorted((a, b) => a.startMs - b.startMs);
}

function singleOf(record: MailboxRecord): readonly Instance[] {
  const span = spanOf(record);
  return span === undefined ? [] : [toInstance(span, 0, () => toEvent(record))];
}

/** The regular ones of a window, and every one that was changed: it may have been moved into the window from anywhere. */
function occurrencesOf(series: Series, { timeMin, timeMax }: Window): readonly Instance[] {
  const { rule, first, exceptions } = series;
  const lastsMs = first.endMs - first.startMs + LONGER_MS;
  const exceptional = new Set(exceptionStarts(series));
  const regular = rule
    .startsBetween(timeMin - lastsMs, timeMax)
    .filter((startMs) => !exceptional.has(startMs))
    .map((startMs) => toInstance(moveSpan(first, startMs), startMs, () => toOccurrence(series, startMs)));
  const changed = [...exceptional].flatMap((startMs) => {
    if (exceptions[toKey(startMs, first)] === null) return [];
    const span = spanOf(fieldsAt(series, startMs));
    return span === undefined ? [] : [toInstance(span, startMs, () => toOccurrence(series, startMs))];
  });
  return [...regular, ...changed];
}

/** By how much an occurrence of whole days may last longer than the first: where a clock is put back, a day has more hours. */
const LONGER_MS = 2 * 3_600_000;

/** The event is made when it is asked for: most of a window's are not, on a page or by who looks for free time. */
function toInstance({ startMs, endMs }: Span, originalStartMs: number, toRecord: () => MailboxRecord): Instance {
  let event: MailboxRecord | undefined;
  return {
    startMs,
    endMs,
    originalStartMs,
    get event() {
      return (event ??= toRecord());
    },
  };
}
