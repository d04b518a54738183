import type { Collection, Mailbox, MailboxRecord } from "../accounts/mailbox.ts";
import { toEvent, toOccurrence } from "./event-view.ts";
import { fieldsAt, hasStart, readKey, readOccurrenceId, seriesOf, toKey, type Series } from "./series.ts";

/** An event that was found by its id: a record, or an occurrence of the series in one. */
export interface FoundEvent {
  readonly record: MailboxRecord;
  /** Its fields as they are stored: of an occurrence, those of the series and its own. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly isOccurrence: boolean;
  /** As the API shows it but for its `calendarId`. */
  view(): MailboxRecord;
  /** Changes fields, of an occurrence at it alone, and announces that the record was updated. */
  update(mailbox: Mailbox, collection: Collection, fields: object): void;
  /** Removes it: an occurrence becomes an exception of its series, of which an update is announced. */
  remove(mailbox: Mailbox, collection: Collection): void;
}

/** By the id of a record or of an occurrence. Undefined where there is none, or it was deleted. */
export function findEvent({ records }: Collection, id: string): FoundEvent | undefined {
  const record = records.get(id);
  if (record !== undefined) return toFoundRecord(record);
  const { masterId = "", key = "" } = readOccurrenceId(id) ?? {};
  const master = records.get(masterId);
  const series = master && seriesOf(master);
  if (series === undefined) return undefined;
  const originalStartMs = readKey(key, series.first);
  return originalStartMs === undefined ? undefined : findOccurrence(series, originalStartMs);
}

/** By when it would start if it had not been moved. Undefined where the series has none then, or it was deleted. */
export function findOccurrence(series: Series, originalStartMs: number): FoundEvent | undefined {
  const { master, exceptions, first } = series;
  const key = toKey(originalStartMs, first);
  if (exceptions[key] === null || !hasStart(series, originalStartMs)) return undefined;
  const withException = (exception: object | null): object => ({ exceptions: { ...exceptions, [key]: exception } });
  return {
    record: master,
    fields: { ...master, ...fieldsAt(series, originalStartMs) },
    isOccurrence: true,
    view: () => toOccurrence(series, originalStartMs),
    update(mailbox, collection, fields) {
      mailbox.update(collection, master.id, withException({ ...exceptions[key], ...fields }));
    },
    remove(mailbox, collection) {
      mailbox.update(collection, master.id, withException(null));
    },
  };
}

function toFoundRecord(record: MailboxRecord): FoundEvent {
  return {
    record,
    fields: record,
    isOccurrence: false,
    view: () => toEvent(record),
    update(mailbox, collection, fields) {
      mailbox.update(collection, record.id, fields);
    },
    remove(mailbox, collection) {
      mailbox.remove(collection, record.id);
    },
  };
}
