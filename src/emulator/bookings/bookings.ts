import type { Clock } from "../../clock.ts";
import type { Account } from "../accounts/account.ts";
import { toEventTime } from "../calendars/event-times.ts";
import type { Interval } from "../calendars/intervals.ts";
import { bookableWindow, freeTimes, participantsAt, zoneOf, type FreeTime } from "./free-times.ts";
import { createProfiles, type BookingProfile, type Profiles, type Required } from "./profiles.ts";

/** What is to be booked. */
export interface WantedMeeting {
  readonly startMs: number;
  readonly required: Required;
  /** Of those that the profile has: the others are left out. All, where neither is given. */
  readonly accountIds?: readonly number[] | undefined;
  readonly groupXids?: readonly string[] | undefined;
  readonly guest: { readonly name?: string | undefined; readonly email?: string | undefined };
  /** For `{{variables}}` of the subject and the description. */
  readonly variables: ReadonlyMap<string, string>;
}

interface Meeting extends Pick<WantedMeeting, "guest" | "variables">, Interval {
  readonly profile: BookingProfile;
  readonly accountIds: readonly number[];
}

/** A meeting whose time is held. */
interface Reservation {
  readonly id: number;
  readonly meeting: Meeting;
  readonly endsAtMs: number;
}

/** Profiles, their free times, and the meetings that are booked on them. */
export interface Bookings {
  readonly profiles: Profiles;
  /** In order. @param window in which they begin */
  freeTimes(profile: BookingProfile, window: Interval, required: Required): readonly FreeTime[];
  /** True where something might be free at or after a time. */
  hasLater(profile: BookingProfile, ms: number): boolean;
  /** Puts a meeting into the calendar of each account that takes part: the id is the first one's. Undefined where the time is not free. */
  book(profile: BookingProfile, wanted: WantedMeeting): (Group & { readonly id: string }) | undefined;
  /** Holds the time. */
  reserve(
    profile: BookingProfile,
    wanted: WantedMeeting,
    forMs: number,
  ): (Group & { readonly reservationId: number }) | undefined;
  /** One that is neither confirmed nor over, of a profile and of accounts that are there. */
  reservation(ownerId: number | undefined, id: number): Reservation | undefined;
  /** Books it. @returns the id of the event */
  confirm(reservation: Reservation): string;
  cancel(reservation: Reservation): void;
  clear(): void;
}

/** The group that takes part, if one does. */
interface Group {
  readonly groupXid?: string;
}

/** What bookings need. */
export interface BookingsDeps {
  readonly clock: Clock;
  readonly accounts: ReadonlyMap<number, Account>;
  /** Tells those who subscribed to the profile. */
  readonly announce: (account: Account, profile: BookingProfile, entry: object) => void;
}

const FIRST_RESERVATION = 5001;

/** @see protocol 6.2, booking notification, and the service's public description, book */
export function createBookings({ clock, accounts, announce }: BookingsDeps): Bookings {
  const profiles = createProfiles();
  const reservations = new Map<number, Reservation>();
  let nextReservation = FIRST_RESERVATION;

  const isHeld = ({ endsAtMs }: Reservation): boolean => endsAtMs > clock.now();

  function bookable(id: number) {
    const owner = accounts.get(id);
    const calendar = owner?.hasAccess === true ? owner.mailbox.calendar("primary") : undefined;
    if (owner === undefined || calendar === undefined) return undefined;
    const held = [...reservations.values()].filter(isHeld).map(({ meeting }) => meeting);
    return { calendar: { ...calendar, owner }, held: held.filter(({ accountIds }) => accountIds.includes(id)) };
  }

  function free(profile: BookingProfile, window: Interval, required: Required): readonly FreeTime[] {
    return freeTimes(profile, { now: clock.now(), window, required, bookable });
  }

  function meetingOf(profile: BookingProfile, wanted: WantedMeeting) {
    const { accountIds, groupXids, startMs, required, guest, variables } = wanted;
    const isChosen = accountIds !== undefined || groupXids !== undefined;
    const chosen = !isChosen
      ? profile
      : {
          ...profile,
          accountIds: profile.accountIds.filter((id) => accountIds?.includes(id)),
          groups: profile.groups.filter(({ extId }) => groupXids?.includes(extId)),
        };
    const time = free(chosen, { startMs, endMs: startMs + 1 }, required)[0];
    if (time === undefined) return undefined;
    const { accountIds: participants, ...others } = participantsAt(time, required);
    const meeting = { profile, guest, variables, startMs, endMs: time.endMs, accountIds: participants };
    return { meeting, ...others };
  }

  function make({ profile, accountIds, ...meeting }: Meeting): string {
    const participants = accountIds.flatMap((id) => accounts.get(id) ?? []);
    const [first = ""] = participants.flatMap((account) => {
      const calendar = account.mailbox.calendar("primary");
      if (calendar === undefined) return [];
      const event = account.mailbox.create(calendar, toEvent(account, { profile, participants, ...meeting }));
      announce(account, profile, { bookingId: profile.id, calendarId: calendar.id, eventId: event.id });
      return event.id;
    });
    return first;
  }

  return {
    profiles,
    freeTimes: free,
    hasLater: ({ fields }, ms) => bookableWindow(fields, clock.now()).endMs > ms,
    book(profile, wanted) {
      const { meeting, ...found } = meetingOf(profile, wanted) ?? {};
      return meeting && { id: make(meeting), ...found };
    },
    reserve(profile, wanted, forMs) {
      const { meeting, ...found } = meetingOf(profile, wanted) ?? {};
      if (meeting === undefined) return undefined;
      const id = nextReservation;
      nextReservation += 1;
      reservations.set(id, { id, meeting, endsAtMs: clock.now() + forMs });
      return { reservationId: id, ...found };
    },
    reservation(ownerId, id) {
      const found = reservations.get(id);
      if (found === undefined || !isHeld(found)) return undefined;
      const { profile, accountIds } = found.meeting;
      const isThere = profiles.of(ownerId).includes(profile) && accountIds.every((account) => accounts.has(account));
      return isThere ? found : undefined;
    },
    confirm({ id, meeting }) {
      reservations.delete(id);
      return make(meeting);
    },
    cancel: ({ id }) => void reservations.delete(id),
    clear() {
      profiles.clear();
      reservations.clear();
      nextReservation = FIRST_RESERVATION;
    },
  };
}

/** Names in `{{variables}}` of a profile, each once. */
export function variablesOf({ fields: { subject = "", description = "" } }: BookingProfile): readonly string[] {
  return [...new Set([...`${subject} ${description}`.matchAll(VARIABLE)].map(([, name = ""]) => name))];
}

const VARIABLE = /\{\{\s*([\w.-]+)\s*\}\}/g;

type Details = Omit<Meeting, "accountIds"> & { readonly participants: readonly Account[] };

function toEvent({ name, email }: Account, { profile, participants, guest, variables, ...time }: Details): object {
  const { subject = "Meeting", description, location, workHours } = profile.fields;
  const filled = (text: string): string => text.replaceAll(VARIABLE, (_whole, key: string) => variables.get(key) ?? "");
  const [start, end] = [time.startMs, time.endMs].map((ms) =>
    toEventTime(ms, { zone: zoneOf(workHours), isAllDay: false }),
  );
  const invited = [
    ...(guest.email === undefined ? [] : [{ name: guest.name, address: guest.email }]),
    ...participants
      .filter((other) => other.email !== email)
      .map((other) => ({ name: other.name, address: other.email })),
  ];
  return {
    subject: filled(subject),
    ...(description !== undefined && { description: filled(description) }),
    ...(location !== undefined && { location }),
    start,
    end,
    organizer: { emailAddress: { name, address: email } },
    meetingInfo: { attendees: invited.map((emailAddress) => ({ emailAddress, type: "required" })) },
  };
}
