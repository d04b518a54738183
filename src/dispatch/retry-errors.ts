import { HooklineError, UsageError, type ErrorOptions } from "../errors.ts";

/**
 * Thrown by a handler: do not try again. The job is dead at once, whatever attempts are left.
 * @example throw new GiveUp("the account was deleted");
 */
export class GiveUp extends HooklineError {
  override name: string = "GiveUp";

  constructor(reason: string, options: Pick<ErrorOptions, "cause"> = {}) {
    super("give-up", reason, options);
  }
}

/** When {@link RetryLater} asks to be tried again. */
export type RetryTime = { readonly afterMs: number } | { readonly afterSeconds: number } | { readonly at: Date };

/**
 * Thrown by a handler: try again at this time. It does not count as a failed attempt, but `retryForMs` still limits it: a later time is
 * moved to the end of that. A time that is not in the future waits as long as after a first failure. The shortest delay is 100 ms.
 * @throws UsageError `retry-later-invalid` for anything but the three forms
 * @example throw new RetryLater({ afterSeconds: 30 });
 * @see retryAfter for another server's `Retry-After`
 */
export class RetryLater extends HooklineError {
  override name: string = "RetryLater";
  readonly when: RetryTime;

  constructor(when: RetryTime, options: Pick<ErrorOptions, "cause"> = {}) {
    super("retry-later", "The handler asked to be tried again later.", options);
    this.when = when;
    if (!Number.isFinite(this.delayMs(0))) {
      throw new UsageError("retry-later-invalid", `RetryLater got ${describe(when)}.`, {
        fix: "Give it { afterMs }, { afterSeconds } or { at: Date }, such as new RetryLater({ afterSeconds: 30 }).",
      });
    }
  }

  /** Milliseconds from now, never below 0. */
  delayMs(now: number): number {
    const { when } = this;
    if (typeof when !== "object" || when === null) return Number.NaN;
    if ("afterMs" in when) return Math.max(when.afterMs, 0);
    if ("afterSeconds" in when) return Math.max(when.afterSeconds * 1_000, 0);
    return "at" in when && when.at instanceof Date ? Math.max(when.at.getTime() - now, 0) : Number.NaN;
  }
}

function describe(when: unknown): string {
  return typeof when === "object" && when !== null
    ? `{ ${Object.entries(when)
        .map(([key, value]) => `${key}: ${String(value)}`)
        .join(", ")} }`
    : String(when);
}

/**
 * For a handler whose own request was refused with a `Retry-After`: seconds, or a date in any of HTTP's three forms. A value that is
 * missing, unreadable or not in the future waits as long as after a first failure.
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
