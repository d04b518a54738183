import type { Context } from "hono";
import * as z from "zod";
import type { Account } from "../accounts/account.ts";
import type { Collection, MailboxRecord } from "../accounts/mailbox.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { ApiError, bodyOf, type Route } from "../http/routes.ts";
import { reachableAccountOf } from "./authenticate.ts";

const RECORD = z.looseObject({});

/** Create, get, update and delete of one kind of record. @param resourceOf the resource of a calendar, or a task list */
export function recordRoutes(
  service: EmulatedService,
  path: string,
  resourceOf: (collectionId: string) => string,
): readonly Route[] {
  function collectionOf(context: Context): { readonly account: Account; readonly collection: Collection } {
    const account = reachableAccountOf(service, context);
    const id = context.req.param("collection") ?? "";
    try {
      return { account, collection: account.mailbox.collection(resourceOf(id)) };
    } catch (error) {
      throw new ApiError(404, "not_found", (error as Error).message);
    }
  }

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

/** @throws ApiError 404 */
function found(record: MailboxRecord | undefined, context: Context): MailboxRecord {
  if (record !== undefined) return record;
  throw new ApiError(404, "not_found", `There is no record ${context.req.param("id")}.`);
}
