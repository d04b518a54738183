import {
  bookingsOf,
  createApplication,
  createBookingForm,
  createClient,
  groupBookingsOf,
} from "../../../src/client.ts";
import type { EmulatedAccount, EmulatorOptions } from "../../../src/emulator.ts";
import { startEmulator, startReceiver } from "../support.ts";

/** A Monday. The emulator's clock begins on the Friday before. */
export const MONDAY = "2026-01-05";

/** A time of that day. */
export const at = (clock: string): string => `${MONDAY}T${clock}:00Z`;

/** Accounts, with the calls of bookings. */
export async function startBookings(options: EmulatorOptions = {}) {
  const [emulator, receiver] = await Promise.all([startEmulator(options), startReceiver()]);
  const { appId: clientId, appSecret: clientSecret, url: baseUrl } = emulator;
  const account = await emulator.account({ name: "Grace Hopper", email: "grace@example.com" });
  const clientOf = ({ token }: EmulatedAccount) => createClient({ token, baseUrl, rateLimit: false, retry: false });
  const application = createApplication({ clientId, clientSecret, baseUrl, retry: false });
  const client = clientOf(account);
  return {
    emulator,
    receiver,
    account,
    client,
    clientOf,
    application,
    bookings: bookingsOf(client),
    groups: groupBookingsOf(application),
    form: (name: string) => createBookingForm({ clientId, name, baseUrl, retry: false }),
    /** Bodies that the receiver has got since it was asked last. */
    async delivered(): Promise<readonly unknown[]> {
      await emulator.settled();
      return receiver.received.splice(0).map(({ body }) => JSON.parse(body) as unknown);
    },
    /** What is in an account's primary calendar on the Monday. */
    async meetings(of: EmulatedAccount = account) {
      const { events } = clientOf(of).calendar("primary");
      const range = { timeMin: `${MONDAY}T00:00:00Z`, timeMax: `${MONDAY}T23:59:00Z` };
      const found = [];
      for await (const event of events.range(range)) found.push(event);
      return found;
    },
  };
}

/** Hours and minutes at which times begin. */
export async function startsOf(times: AsyncIterable<{ readonly start: string }>): Promise<readonly string[]> {
  const starts: string[] = [];
  for await (const { start } of times) starts.push(start.slice("2026-01-05T".length, "2026-01-05T09:00".length));
  return starts;
}
