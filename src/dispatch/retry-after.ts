import { RetryLater } from "./retry-errors.ts";

/**
 * For a handler whose own request was turned away with a `Retry-After`: seconds, or a date in any of HTTP's three forms. A value that is
 * missing, that cannot be read, or that is not ahead, waits as long as after a first failure.
 * @example if (response.status === 429) throw retryAfter(response.headers.get("retry-after"));
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
 */
export function retryAfter(header: string | null | undefined): RetryLater {
  const text = String(header ?? "").trim();
  // A server may ask for more than a number can hold.
  if (/^\d+$/.test(text)) return new RetryLater({ afterSeconds: Math.min(Number(text), Number.MAX_SAFE_INTEGER) });
  const at = dateOf(text);
  return new RetryLater(at === undefined ? { afterMs: 0 } : { at });
}

/** Of today, of RFC 850, and of C's asctime: https://www.rfc-editor.org/rfc/rfc9110#name-date-time-formats */
const FORMS = [
  /^(?<weekday>[A-Z][a-z]{2}), (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>[\d:]{8}) GMT$/,
  /^(?<weekday>[A-Z][a-z]{5,8}), (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>[\d:]{8}) GMT$/,
  /^(?<weekday>[A-Z][a-z]{2}) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>[\d:]{8}) (?<year>\d{4})$/,
];

function dateOf(text: string): Date | undefined {
  const groups = FORMS.map((form) => form.exec(text)?.groups).find((found) => found !== undefined);
  if (groups === undefined) return undefined;
  const { weekday = "", day = "", month = "", year = "", time = "" } = groups;
  // A year of two digits: the weekday tells its century, because one date has another one in the next.
  for (const century of year.length === 2 ? ["20", "19", "21"] : [""]) {
    const today = `${weekday.slice(0, 3)}, ${day.replace(" ", "0")} ${month} ${century}${year} ${time} GMT`;
    const date = new Date(today);
    if (date.toUTCString() === today) return date; // what there is no such day of would come out otherwise
  }
  return undefined;
}
