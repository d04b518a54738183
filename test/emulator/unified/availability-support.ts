import type { EmulatorOptions } from "../../../src/emulator.ts";
import { call, startEmulator } from "../support.ts";

/** The week in which Berlin, an hour ahead of UTC until then, puts its clocks forward: on Sunday, the 29th. */
export const WEEK = { timeMin: "2026-03-27T00:00:00+01:00", timeMax: "2026-04-01T00:00:00+02:00" };
export const OFFICE_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"];

export const FREE_BUSY = "POST /v1/calendars/freeBusy";
export const SUGGEST = "POST /v1/calendars/suggestMeetingTimes";
export const CALENDAR_FREE_BUSY = "POST /v1/calendars/{calendarId}/freeBusy";
export const AVAILABLE_TIMES = "POST /v1/calendars/{calendarId}/availableTimes";
export const ROWS = [FREE_BUSY, SUGGEST, CALENDAR_FREE_BUSY, AVAILABLE_TIMES];

export async function startAccount(options: EmulatorOptions = {}) {
  const emulator = await startEmulator(options);
  const account = await emulator.account({ email: "grace@example.com" });
  const ask = (line: string, body: unknown) => call(emulator, ofPrimary(line), { token: account.token, body });
  return { emulator, account, ask };
}

export function ofPrimary(row: string): string {
  return row.replace("{calendarId}", "primary");
}

/** An event at a time of a day in March 2026, as the clock of a zone shows it. */
export function at(
  day: number,
  from: string,
  to: string,
  { timezone = "UTC", ...fields }: Record<string, unknown> = {},
) {
  const time = (clock: string) => ({ dateTime: `2026-03-${day}T${clock}:00`, timezone });
  return { start: time(from), end: time(to), ...fields };
}

export const startsOf = (times: unknown) => (times as readonly { readonly start: string }[]).map(({ start }) => start);
