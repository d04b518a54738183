import type { Context } from "hono";
import * as z from "zod";
import { isHooklineError } from "../../errors.ts";
import type { Account } from "../accounts/account.ts";
import type { Collection, MailboxRecord } from "../accounts/mailbox.ts";
import type { EmulatedService } from "../emulated-service.ts";
import type { Subscription } from "../subscriptions/subscription.ts";
import { ApiError, bodyOf, checked, type Route } from "./routes.ts";

const WANTED = z.strictObject({
  resource: z.string(),
  notificationUrl: z.string(),
  filters: z.array(z.string()).optional(),
  detailLevel: z.enum(["status", "signal"]).optional(),
});
const RECORD = z.looseObject({});
const PAGE = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).optional(),
  offset: z.coerce.number().int().min(0).default(0),
  includeInactive: z.enum(["true", "false"]).default("false"),
});

/** The part of the unified API that causes deliveries, and that a handler calls after one. @see protocol 4.1 */
export function unifiedRoutes(service: EmulatedService, { pageSize }: { readonly pageSize: number }): readonly Route[] {
  function accountOf(context: Context): Account {
    const token = /^Bearer (.+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    if (token === undefined)
      throw new ApiError(401, "unauthorized", "There is no Authorization header with a bearer token.");
    for (const account of service.accounts.values()) if (account.token === token) return account;
    throw new ApiError(401, "unauthorized", "The bearer token is not one of an account's.");
  }

  /** An account whose mailbox the service can reach. */
  function reachable(context: Context): Account {
    const account = accountOf(context);
    if (account.hasAccess) return account;
    throw new ApiError(401, "token.refresh.failed", "The service has lost its access to the mailbox.");
  }

  function subscriptionOf(context: Context): Subscription {
    const { id: accountId } = accountOf(context);
    const subscription = service.subscriptions.get(Number(context.req.param("id")));
    if (subscription?.accountId === accountId) return subscription;
    throw new ApiError(404, "not_found", `There is no subscription ${context.req.param("id")}.`);
  }

  const subscriptions: readonly Route[] = [
    {
      method: "GET",
      path: "/v1/subscriptions",
      run(context) {
        const { id } = accountOf(context);
        const { limit = pageSize, offset, includeInactive } = checked(PAGE, context.req.query());
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
        const { id } = accountOf(context);
        const wanted = await bodyOf(context, WANTED);
        try {
          return toRecord(await service.subscribe(id, wanted));
        } catch (error) {
          if (!isHooklineError(error)) throw error;
          throw new ApiError(
            400,
            isHooklineError(error, "handshake-failed") ? "notificationUrl.notValid" : "badRequest",
            error.message,
          );
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
  return [
    ...subscriptions,
    ...recordRoutes("/v1/calendars/:collection/events", (id) => `/calendars/${encodeURIComponent(id)}/events`),
    ...recordRoutes("/v1/email/messages", () => "/email/messages").filter(
      ({ method }) => method === "GET" || method === "DELETE",
    ),
    ...recordRoutes("/v1/contacts", () => "/contacts"),
    ...recordRoutes("/v1/tasklists/:collection/tasks", (id) => `/tasklists/${encodeURIComponent(id)}/tasks`),
  ];

  /** Create, get, update and delete of one kind of record. */
  function recordRoutes(path: string, resourceOf: (collectionId: string) => string): readonly Route[] {
    const collectionOf = (context: Context): { readonly account: Account; readonly collection: Collection } => {
      const account = reachable(context);
      const id = context.req.param("collection") ?? "";
      try {
        return { account, collection: account.mailbox.collection(resourceOf(id)) };
      } catch (error) {
        throw new ApiError(404, "not_found", (error as Error).message);
      }
    };
    return [
      {
        method: "POST",
        path,
        async run(context) {
          const { account, collection } = collectionOf(context);
          return context.json(account.mailbox.create(collection, await bodyOf(context, RECORD)), 201);
        },
      },
      {
        method: "GET",
        path: `${path}/:id`,
        run: (context) => found(collectionOf(context).collection.records.get(context.req.param("id") ?? ""), context),
      },
      {
        method: "PATCH",
        path: `${path}/:id`,
        async run(context) {
          const { account, collection } = collectionOf(context);
          const fields = await bodyOf(context, RECORD);
          return found(account.mailbox.update(collection, context.req.param("id") ?? "", fields), context);
        },
      },
      {
        method: "DELETE",
        path: `${path}/:id`,
        run(context) {
          const { account, collection } = collectionOf(context);
          found(account.mailbox.remove(collection, context.req.param("id") ?? ""), context);
          return context.body(null, 200);
        },
      },
    ];
  }
}

/** @throws ApiError 404 */
function found(record: MailboxRecord | undefined, context: Context): MailboxRecord {
  if (record !== undefined) return record;
  throw new ApiError(404, "not_found", `There is no record ${context.req.param("id")}.`);
}

/** A subscription as the API shows it. @see protocol 2.1 */
function toRecord({
  id,
  resource,
  notificationUrl,
  active,
  failSince,
  failDescription,
  filters,
  detailLevel,
}: Subscription) {
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
