import type { EmulatorOptions } from "../../../src/emulator.ts";
import { call, startEmulator } from "../support.ts";

export const EVENTS = "/v1/calendars/primary/events";

/** From nine to ten in Berlin, on a Monday. */
export const NINE = {
  start: { dateTime: "2026-03-02T09:00:00+01:00", timezone: "Europe/Berlin" },
  end: { dateTime: "2026-03-02T10:00:00+01:00", timezone: "Europe/Berlin" },
};

export const DAILY = { recurrence: { simple: { pattern: { frequency: "daily" } } } };

/** The four first days of March 2026. */
export const MARCH = "timeMin=2026-03-01T00:00:00Z&timeMax=2026-03-05T00:00:00Z";

/** An event as the API shows it. */
export interface ShownEvent {
  readonly id: string;
  readonly etag: string;
  readonly iCalUId: string;
  readonly [field: string]: unknown;
}

/** An account, and calls with its token. */
export async function startCalendar(options: EmulatorOptions = {}) {
  const emulator = await startEmulator(options);
  const account = await emulator.account({
    name: "Ada Byron",
    email: "ada@example.com",
    calendars: [{ name: "Theirs", isShared: true, events: [{ subject: "Seen", ...NINE }] }],
  });
  const ask = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(emulator, line, { token: account.token, headers, ...(body !== undefined && { body }) });
  return {
    emulator,
    account,
    ask,
    /** Creates an event. */
    create: async (fields: object = {}) =>
      (await ask(`POST ${EVENTS}`, { ...NINE, ...fields })).json["record"] as ShownEvent,
    get: async (id: string) => (await ask(`GET ${EVENTS}/${id}`)).json as ShownEvent,
    /** Updates an event with its present entity tag. */
    async update(id: string, fields: object) {
      const { json } = await ask(`GET ${EVENTS}/${id}`);
      return ask(`PATCH ${EVENTS}/${id}`, fields, { "If-Match": String(json["etag"]) });
    },
    /** Events of one page of a list. */
    async list(query: string) {
      const { json } = await ask(`GET ${EVENTS}/${query}`);
      return json["records"] as readonly ShownEvent[];
    },
    /** The id of the calendar that another account shares. */
    async theirs() {
      const { json } = await ask("GET /v1/calendars?withShared=true");
      return (json["records"] as readonly { readonly id: string }[]).at(-1)?.id ?? "";
    },
  };
}

/** `dateTime` or `dateOnly` of each event's start. */
export function startsOf(events: readonly ShownEvent[]): readonly (string | undefined)[] {
  return events.map(({ start }) => {
    const { dateTime, dateOnly } = start as { readonly dateTime?: string; readonly dateOnly?: string };
    return dateTime ?? dateOnly;
  });
}
