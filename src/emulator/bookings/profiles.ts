import type { DateHours } from "../calendars/work-hours.ts";
import type { WorkHours } from "../calendars/meeting-times.ts";

/** Whether one of several is enough for a meeting, or all must be free. */
export type Required = "one" | "all";

/** How meetings of a profile are. Fields that are not listed are kept. @see the service's public description, BookingInDto */
export interface ProfileFields {
  /** Unique in the application: its public form is found by it. */
  readonly name?: string | undefined;
  readonly durationMinutes: number;
  readonly bufferBetweenMinutes: number;
  readonly availabilityStep: number;
  /** A meeting begins so much later than it is booked. */
  readonly startAfterMinutes: number;
  /** Nothing can be booked before, and after `endTime`. RFC 3339. */
  readonly startTime?: string | undefined;
  readonly endTime?: string | undefined;
  /** How far ahead can be booked: a duration such as `30D`. */
  readonly timeAvailableFor: string;
  readonly subject?: string | undefined;
  readonly description?: string | undefined;
  readonly location?: string | undefined;
  readonly workHours?: Partial<WorkHours> | undefined;
  readonly availabilityIntervals?: { readonly intervals: readonly DateHours[] } | undefined;
  readonly [field: string]: unknown;
}

/** Accounts that count as one in a profile of groups. */
export interface AttachedGroup {
  readonly extId: string;
  accountIds: readonly number[];
  /** Of its accounts. */
  readonly required: Required;
}

/** A page on which meetings are booked. */
export interface BookingProfile {
  readonly id: number;
  /** Its account. Undefined for one of groups, which is the application's. */
  readonly ownerId: number | undefined;
  readonly fields: ProfileFields;
  /** Each counts by itself. */
  accountIds: readonly number[];
  groups: readonly AttachedGroup[];
}

/** All profiles of an application. */
export interface Profiles {
  /** Those of an account, or of groups. */
  of(ownerId: number | undefined): readonly BookingProfile[];
  named(name: string): BookingProfile | undefined;
  add(ownerId: number | undefined, fields: ProfileFields): BookingProfile;
  remove(profile: BookingProfile): void;
  /** An account is gone, with its profiles. */
  forget(accountId: number): void;
  clear(): void;
}

const FIRST_PROFILE = 4001;

export function createProfiles(): Profiles {
  let all: readonly BookingProfile[] = [];
  let next = FIRST_PROFILE;
  return {
    of: (wanted) => all.filter(({ ownerId }) => ownerId === wanted),
    named: (name) => all.find(({ fields }) => fields.name === name),
    add(ownerId, fields) {
      const profile = { id: next, ownerId, fields, accountIds: ownerId === undefined ? [] : [ownerId], groups: [] };
      next += 1;
      all = [...all, profile];
      return profile;
    },
    remove(profile) {
      all = all.filter((one) => one !== profile);
    },
    forget(accountId) {
      const isOther = (id: number): boolean => id !== accountId;
      all = all.filter(({ ownerId }) => ownerId !== accountId);
      for (const profile of all) {
        profile.accountIds = profile.accountIds.filter(isOther);
        for (const group of profile.groups) group.accountIds = group.accountIds.filter(isOther);
      }
    },
    clear() {
      all = [];
      next = FIRST_PROFILE;
    },
  };
}
