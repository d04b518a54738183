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

/** What a month shows is asked for again and again. A record is replaced as soon as it changes, and its series with it. */
const singles = new WeakMap<MailboxRecord, readonly Instance[]>();
const occurrences = new WeakMap<Series, Map<number, readonly Instance[]>>();

/** Occurrences of one series that are kept. */
const MAX_KEPT = 2_000;

function singleOf(record: MailboxRecord): readonly Instance[] {
  const known = singles.get(record);
  if (known !== undefined) return known;
  const span = spanOf(record);
  const made = span === undefined ? [] : [toInstance(span, 0, () => toEvent(record))];
  singles.set(record, made);
  return made;
}

/** None where it was deleted, or its times cannot be read. */
function occurrenceAt(series: Series, startMs: number): readonly Instance[] {
  const kept = occurrences.get(series) ?? new Map<number, readonly Instance[]>();
  occurrences.set(series, kept);
  const known = kept.get(startMs);
  if (known !== undefined) return known;
  const { first, exceptions } = series;
  const exception = exceptions[toKey(startMs, first)];
  const span = exception === undefined ? moveSpan(first, startMs) : exception && spanOf(fieldsAt(series, startMs));
  const made = span ? [toInstance(span, startMs, () => toOccurrence(series, startMs))] : [];
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(startMs, made);
  return made;
}

/** The regular ones of a window, and every one that was changed: it may have been moved into the window from anywhere. */
function occurrencesOf(series: Series, { timeMin, timeMax }: Window): readonly Instance[] {
  const { rule, first } = series;
  const lastsMs = first.endMs - first.startMs + LONGER_MS;
  const starts = new Set([...rule.startsBetween(timeMin - lastsMs, timeMax), ...exceptionStarts(series)]);
  return [...starts].flatMap((startMs) => occurrenceAt(series, startMs));
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
