import * as z from "zod";
import type { EmulatedService } from "../../emulated-service.ts";
import { wrongField, type Route } from "../../http/routes.ts";
import { OFFSET_QUERY, offsetPageOf, offsetPageSchema } from "../offset-pages.ts";
import { OK, OK_ANSWER } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";
import { profileOf, type BookingOperation } from "./bookings.ts";
import { ACCOUNTS, ATTACH_GROUPS, ATTACHED_GROUP, DETACH_GROUPS, PROFILES_AVAILABLE } from "./booking-schemas.ts";

const PROFILES = "/v1/book/group/profiles";

/** Who can be booked by a profile of groups. */
export function attachRoutes(
  service: EmulatedService,
  { pageSize }: UnifiedOptions,
  operation: BookingOperation,
): readonly Route[] {
  const { bookings } = service;

  /** @throws ApiError 400 */
  function assertAccounts(ids: readonly number[], field: string): void {
    const unknown = ids.find((id) => !service.accounts.has(id));
    if (unknown !== undefined) throw wrongField(field, `there is no account ${unknown}`);
  }

  return [
    operation({
      method: "POST",
      path: `${PROFILES}/dynamic/availability`,
      summary: "Gives those of some profiles of groups that have a free time.",
      body: PROFILES_AVAILABLE,
      answer: z.looseObject({ profileIds: z.array(z.int()) }),
      run({ body: { timeMin, timeMax, profileNames, profileIds, required } }) {
        const isAll = profileNames === undefined && profileIds === undefined;
        const asked = bookings.profiles
          .of(undefined)
          .filter(({ id, fields }) => isAll || profileIds?.includes(id) || profileNames?.includes(fields.name ?? ""));
        const isFree = (profile: (typeof asked)[number]): boolean =>
          bookings
            .freeTimes(profile, { startMs: timeMin, endMs: timeMax }, required)
            .some(({ endMs }) => endMs <= timeMax);
        return { profileIds: asked.filter(isFree).map(({ id }) => id) };
      },
    }),
    operation({
      method: "GET",
      path: `${PROFILES}/:id/attachGroups`,
      summary: "Lists the groups of a booking profile.",
      query: OFFSET_QUERY,
      answer: offsetPageSchema(ATTACHED_GROUP),
      isExact: true,
      errors: [404],
      run: ({ query: { limit = pageSize, offset }, param }) =>
        offsetPageOf(profileOf(service, undefined, param("id")).groups, { limit, offset }),
    }),
    operation({
      method: "POST",
      path: `${PROFILES}/:id/attachGroups`,
      summary: "Adds groups to a booking profile, or replaces those that it has.",
      body: ATTACH_GROUPS,
      answer: OK_ANSWER,
      errors: [404],
      run({ body: { groups }, param }) {
        const profile = profileOf(service, undefined, param("id"));
        assertAccounts(
          groups.flatMap(({ accountIds }) => accountIds),
          "groups",
        );
        const byId = new Map([...profile.groups, ...groups].map((group) => [group.extId, group]));
        profile.groups = [...byId.values()];
        return OK;
      },
    }),
    operation({
      method: "POST",
      path: `${PROFILES}/:id/detachGroups`,
      summary: "Takes groups from a booking profile, or some accounts from its groups.",
      body: DETACH_GROUPS,
      answer: OK_ANSWER,
      errors: [404],
      run({ body: { groups }, param }) {
        const profile = profileOf(service, undefined, param("id"));
        for (const { extId, accountIds } of groups) {
          const group = profile.groups.find((one) => one.extId === extId);
          if (accountIds === undefined) profile.groups = profile.groups.filter((one) => one !== group);
          else if (group !== undefined) group.accountIds = group.accountIds.filter((id) => !accountIds.includes(id));
        }
        return OK;
      },
    }),
    operation({
      method: "GET",
      path: `${PROFILES}/:id/attachAccounts`,
      summary: "Lists the accounts of a booking profile.",
      query: OFFSET_QUERY,
      answer: offsetPageSchema(ACCOUNTS),
      errors: [404],
      run: ({ query: { limit = pageSize, offset }, param }) =>
        offsetPageOf(
          profileOf(service, undefined, param("id")).accountIds.map((id) => ({ accountIds: [id] })),
          { limit, offset },
        ),
    }),
    operation({
      method: "POST",
      path: `${PROFILES}/:id/attachAccounts`,
      summary: "Adds accounts to a booking profile.",
      body: ACCOUNTS,
      answer: OK_ANSWER,
      errors: [404],
      run({ body: { accountIds }, param }) {
        const profile = profileOf(service, undefined, param("id"));
        assertAccounts(accountIds, "accountIds");
        profile.accountIds = [...new Set([...profile.accountIds, ...accountIds])];
        return OK;
      },
    }),
    operation({
      method: "POST",
      path: `${PROFILES}/:id/detachAccounts`,
      summary: "Takes accounts from a booking profile.",
      body: ACCOUNTS,
      answer: OK_ANSWER,
      errors: [404],
      run({ body: { accountIds }, param }) {
        const profile = profileOf(service, undefined, param("id"));
        profile.accountIds = profile.accountIds.filter((id) => !accountIds.includes(id));
        return OK;
      },
    }),
  ];
}
