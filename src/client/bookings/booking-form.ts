import { assertOptions } from "../../assert.ts";
import { systemClock } from "../../clock.ts";
import { UsageError } from "../../errors.ts";
import { callFetch } from "../http/call-fetch.ts";
import { createTransport } from "../http/transport.ts";
import { SERVICE_URL, toBaseUrl } from "../http/url.ts";
import type { Paged } from "../paging.ts";
import type { BookableTime, BookableTimes, BookedMeeting } from "../records/booking.ts";
import type { ConnectionOptions } from "../request-options.ts";
import { createMeetingCalls, type BookableTimesOptions, type BookOptions, type NewMeeting } from "./booking-calls.ts";

/** Options of {@link createBookingForm}. */
export interface BookingFormOptions extends ConnectionOptions {
  /** Of the application. */
  clientId: string;
  /** Of the booking profile. */
  name: string;
  /** @default "https://api.aurinko.io" */
  baseUrl?: string | URL | undefined;
}

/** What a public page does with a booking profile. */
export interface BookingForm {
  /** `GET /v1/book/{aurinkoClientId}/{name}/meeting` */
  times(options?: BookableTimesOptions): Paged<BookableTime, BookableTimes>;
  /** `POST /v1/book/{aurinkoClientId}/{name}/meeting`. Never repeated by itself. */
  book(meeting: NewMeeting, options?: BookOptions): Promise<BookedMeeting>;
}

const ALLOWED: Readonly<Record<keyof BookingFormOptions, true>> = {
  clientId: true,
  name: true,
  baseUrl: true,
  fetch: true,
  clock: true,
  signal: true,
  timeoutMs: true,
  retry: true,
};

/**
 * Makes a client of the public form of a booking profile. It needs no secret, so it may be in a page.
 *
 * @throws UsageError `option-invalid`
 * @example
 * const form = createBookingForm({ clientId, name: "intro" });
 * for await (const { start } of form.times({ fromDate: "2026-03-02" })) console.log(start);
 */
export function createBookingForm(options: BookingFormOptions): BookingForm {
  assertOptions("createBookingForm", options, ALLOWED);
  const {
    clientId: aurinkoClientId,
    name,
    baseUrl = SERVICE_URL,
    fetch = callFetch,
    clock = systemClock,
    ...defaults
  } = options;
  for (const [option, value] of Object.entries({ clientId: aurinkoClientId, name }))
    if (typeof value !== "string" || value === "")
      throw new UsageError("option-invalid", `createBookingForm got no ${option}, expected a text.`);
  const send = createTransport({
    baseUrl: toBaseUrl("createBookingForm", baseUrl),
    credentials: async () => undefined,
    defaults,
    fetch,
    perSecond: Infinity,
    clock,
    random: Math.random,
  });
  const calls = createMeetingCalls(send, "/v1/book/{aurinkoClientId}/{name}/meeting");
  const params = { aurinkoClientId, name };
  return {
    times: (given) => calls.times(params, given),
    book: (meeting, given) => calls.book(params, meeting, given),
  };
}
