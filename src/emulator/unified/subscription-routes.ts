import type { Context } from "hono";
import * as z from "zod";
import { isHooklineError } from "../../errors.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { ApiError, bodyOf, checked, type Route } from "../http/routes.ts";
import type { Subscription } from "../subscriptions/subscription.ts";
import { accountOf } from "./authenticate.ts";

const WANTED = z.strictObject({
  resource: z.string(),
  notificationUrl: z.string(),
  filters: z.array(z.string()).optional(),
  detailLevel: z.enum(["status", "signal"]).optional(),
});
const LIST = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).optional(),
  offset: z.coerce.number().int().min(0).default(0),
  includeInactive: z.enum(["true", "false"]).default("false"),
});

/** Subscriptions of an account. @see protocol 4.1 */
export function subscriptionRoutes(service: EmulatedService, pageSize: number): readonly Route[] {
  function subscriptionOf(context: Context): Subscription {
    const { id: accountId } = accountOf(service, context);
    const subscription = service.subscriptions.get(Number(context.req.param("id")));
    if (subscription?.accountId === accountId) return subscription;
    throw new ApiError(404, "not_found", `There is no subscription ${context.req.param("id")}.`);
  }

  return [
    {
      method: "GET",
      path: "/v1/subscriptions",
      run(context) {
        const { id } = accountOf(service, context);
        const { limit = pageSize, offset, includeInactive } = checked(LIST, context.req.query());
        const all = [...service.subscriptions.values()].filter(
          ({ accountId, active }) => accountId === id && (active || includeInactive === "true"),
        );
        const records = all.slice(offset, offset + limit).map(toRecord);
        return { offset, totalSize: all.length, done: offset + limit >= all.length, records };
      },
    },
    {
      method: "POST",
      path: "/v1/subscriptions",
      async run(context) {
        const { id } = accountOf(service, context);
        const wanted = await bodyOf(context, WANTED);
        try {
          return toRecord(await service.subscribe(id, wanted));
        } catch (error) {
          if (!isHooklineError(error)) throw error;
          const code = isHooklineError(error, "handshake-failed") ? "notificationUrl.notValid" : "badRequest";
          throw new ApiError(400, code, error.message);
        }
      },
    },
    { method: "GET", path: "/v1/subscriptions/:id", run: (context) => toRecord(subscriptionOf(context)) },
    {
      method: "DELETE",
      path: "/v1/subscriptions/:id",
      run(context) {
        service.unsubscribe(subscriptionOf(context));
        return context.body(null, 200);
      },
    },
  ];
}

/** A subscription as the API shows it. @see protocol 2.1 */
function toRecord(subscription: Subscription) {
  const { id, resource, notificationUrl, active, failSince, failDescription, filters, detailLevel } = subscription;
  return {
    id: String(id),
    resource,
    notificationUrl,
    active,
    ...(failSince !== undefined && { failSince: new Date(failSince).toISOString(), failDescription }),
    disabledByBilling: false,
    filters,
    detailLevel,
  };
}
