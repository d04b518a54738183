import * as z from "zod";
import { operationsOf } from "../http/operation.ts";
import { ApiError, type Route } from "../http/routes.ts";
import { SIGN_UP } from "./schemas.ts";
import { serviceRoutes } from "./service-routes.ts";
import type { SyncConfig } from "./sync-config.ts";
import { syncRunRoutes } from "./sync-run-routes.ts";
import { templateRoutes } from "./template-routes.ts";
import { TAG, userOperations } from "./user-operations.ts";

const USER = z.looseObject({
  uid: z.int(),
  name: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  email: z.string(),
  extId: z.string(),
  timeZoneInfo: z.string(),
  addedBy: z.int(),
  disabled: z.boolean(),
  admin: z.boolean(),
  templCount: z.int(),
});

/** The sync-configuration API, all rows of protocol 4.2. @see protocol 9: it is under `/v2` */
export function syncConfigRoutes(config: SyncConfig): readonly Route[] {
  const withoutToken = operationsOf({ tag: TAG, auth: "none", caller: () => undefined });
  const operation = userOperations(config);

  return [
    withoutToken({
      method: "POST",
      path: "/v2/signup",
      summary: "Signs a user up.",
      body: SIGN_UP,
      answer: z.looseObject({ accessToken: z.string() }),
      errors: [401],
      run: ({ body }) => ({ accessToken: config.signUp(body) }),
    }),
    operation({
      method: "GET",
      path: "/v2/me",
      summary: "Gets the user of the token.",
      answer: USER,
      run({ caller: { uid, profile, templCount } }) {
        const { firstName, lastName, email, userExtId: extId, timeZoneInfo, admin } = profile;
        const fixed = { addedBy: 0, disabled: false };
        const name = `${firstName} ${lastName}`;
        return { uid, name, firstName, lastName, email, extId, timeZoneInfo, ...fixed, admin, templCount };
      },
    }),
    ...serviceRoutes(config),
    ...syncRunRoutes(config),
    ...templateRoutes(config),
    {
      method: "GET",
      path: "/authorize/:key",
      run(context) {
        const name = config.authorize(context.req.param("key") ?? "");
        if (name === undefined) throw new ApiError(404, "not_found", "There is nothing to authorise here.");
        return context.text(`The access to ${name} is authorised. This window can be closed.`);
      },
    },
  ];
}
