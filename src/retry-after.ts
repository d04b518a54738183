/** When a server asks to be tried again: after so many seconds, or at a time. */
export type RetryAfter = { readonly afterSeconds: number } | { readonly at: Date };

/**
 * Reads a `Retry-After` header: seconds, or a date in any of HTTP's three forms.
 *
 * @returns undefined for a value that is missing or unreadable
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
 */
export function parseRetryAfter(header: string | null | undefined): RetryAfter | undefined {
  const text = String(header ?? "").trim();
  // A server may ask for more than a number can hold.
  if (/^\d+$/.test(text)) return { afterSeconds: Math.min(Number(text), Number.MAX_SAFE_INTEGER) };
  const at = dateOf(text);
  return at && { at };
}

/** The current one, RFC 850's, and C's asctime: https://www.rfc-editor.org/rfc/rfc9110#name-date-time-formats */
const FORMS = [
  /^(?<weekday>[A-Z][a-z]{2}), (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>[\d:]{8}) GMT$/,
  /^(?<weekday>[A-Z][a-z]{5,8}), (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>[\d:]{8}) GMT$/,
  /^(?<weekday>[A-Z][a-z]{2}) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>[\d:]{8}) (?<year>\d{4})$/,
];

function dateOf(text: string): Date | undefined {
  const groups = FORMS.map((form) => form.exec(text)?.groups).find((found) => found !== undefined);
  if (groups === undefined) return undefined;
  const { weekday = "", day = "", month = "", year = "", time = "" } = groups;
  // The weekday gives the century of a two-digit year: a date has another weekday a century later.
  for (const century of year.length === 2 ? ["20", "19", "21"] : [""]) {
    const today = `${weekday.slice(0, 3)}, ${day.replace(" ", "0")} ${month} ${century}${year} ${time} GMT`;
    const date = new Date(today);
    if (date.toUTCString() === today) return date; // a day that does not exist would come out as another
  }
  return undefined;
}
