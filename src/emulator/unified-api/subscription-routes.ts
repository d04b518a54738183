import * as z from "zod";
import { isHooklineError } from "../../errors.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { operationsOf } from "../http/operation.ts";
import { ApiError, type Route } from "../http/routes.ts";
import type { Subscription } from "../subscriptions/subscription.ts";
import { accountOf } from "./authenticate.ts";
import { OFFSET_QUERY, offsetPageOf, offsetPageSchema } from "./offset-pages.ts";
import { flag } from "./schemas.ts";
import type { UnifiedOptions } from "./unified-routes.ts";

const WANTED = z.strictObject({
  resource: z.string(),
  notificationUrl: z.string(),
  filters: z.array(z.string()).optional(),
  detailLevel: z.enum(["status", "signal"]).optional(),
});
const LIST = OFFSET_QUERY.extend({ includeInactive: flag(false) });
const SUBSCRIPTION = z.looseObject({
  id: z.string(),
  resource: z.string(),
  notificationUrl: z.string(),
  active: z.boolean(),
  failSince: z.string().optional(),
  failDescription: z.string().optional(),
  disabledByBilling: z.boolean(),
});
/** Subscriptions of an account. @see protocol 4.1 */
export function subscriptionRoutes(service: EmulatedService, { pageSize }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Subscriptions",
    auth: "bearer",
    caller: (context) => accountOf(service, context),
  });

  /** @throws ApiError 404 */
  function subscriptionOf(accountId: number, id: string): Subscription {
    const subscription = service.subscriptions.get(Number(id));
    if (subscription?.accountId === accountId) return subscription;
    throw new ApiError(404, "not_found", `There is no subscription ${id}.`);
  }

  const view = (subscription: Subscription) =>
    toRecord(subscription, service.accounts.get(subscription.accountId)?.isPaid === false);

  return [
    operation({
      method: "GET",
      path: "/v1/subscriptions",
      summary: "Lists subscriptions.",
      query: LIST,
      answer: offsetPageSchema(SUBSCRIPTION),
      run({ caller: { id }, query: { limit = pageSize, offset, includeInactive } }) {
        const all = [...service.subscriptions.values()].filter(
          ({ accountId, active }) => accountId === id && (active || includeInactive),
        );
        return offsetPageOf(all.map(view), { limit, offset });
      },
    }),
    operation({
      method: "POST",
      path: "/v1/subscriptions",
      summary: "Subscribes, after a verification handshake with the receiver.",
      body: WANTED,
      answer: SUBSCRIPTION,
      async run({ caller, body }) {
        try {
          return view(await service.subscribe(caller.id, body));
        } catch (error) {
          if (!isHooklineError(error)) throw error;
          const code = isHooklineError(error, "handshake-failed") ? "notificationUrl.notValid" : "badRequest";
          throw new ApiError(400, code, error.message);
        }
      },
    }),
    operation({
      method: "GET",
      path: "/v1/subscriptions/:id",
      summary: "Gets a subscription.",
      answer: SUBSCRIPTION,
      errors: [404],
      run: ({ caller, param }) => view(subscriptionOf(caller.id, param("id"))),
    }),
    operation({
      method: "DELETE",
      path: "/v1/subscriptions/:id",
      summary: "Ends a subscription.",
      isExact: true,
      errors: [404],
      run: ({ caller, param }) => service.unsubscribe(subscriptionOf(caller.id, param("id"))),
    }),
  ];
}

/** A subscription as the API shows it. @see protocol 2.1 */
function toRecord(subscription: Subscription, disabledByBilling: boolean) {
  const { id, resource, notificationUrl, active, failSince, failDescription, filters, detailLevel } = subscription;
  return {
    id: String(id),
    resource,
    notificationUrl,
    active,
    ...(failSince !== undefined && { failSince: new Date(failSince).toISOString(), failDescription }),
    disabledByBilling,
    filters,
    detailLevel,
  };
}
