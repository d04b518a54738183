import * as z from "zod";
import type { Account } from "../accounts/account.ts";
import type { Collection, MailboxRecord } from "../accounts/mailbox.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { operationsOf } from "../http/operation.ts";
import { ApiError, type Route } from "../http/routes.ts";
import { reachableAccountOf } from "./authenticate.ts";
import { RECORD } from "./schemas.ts";

const FIELDS = z.looseObject({});

/** Where records of one kind are. */
export interface RecordPath {
  /** What the records are, in the plural. */
  readonly tag: string;
  readonly path: string;
  /** The resource of a task list; of contacts there is one. */
  readonly resourceOf: (collectionId: string) => string;
}

/** Create, get, update and delete of one kind of record, as far as webhooks need them. */
export function recordRoutes(service: EmulatedService, { tag, path, resourceOf }: RecordPath): readonly Route[] {
  const operation = operationsOf({ tag, auth: "bearer", caller: (context) => reachableAccountOf(service, context) });
  const one = tag.slice(0, -1).toLowerCase();

  /** @throws ApiError 404 */
  function collectionOf({ mailbox }: Account, id: string): Collection {
    try {
      return mailbox.collection(resourceOf(id));
    } catch (error) {
      throw new ApiError(404, "not_found", (error as Error).message);
    }
  }

  /** @throws ApiError 404 */
  function found(record: MailboxRecord | undefined, id: string): MailboxRecord {
    if (record !== undefined) return record;
    throw new ApiError(404, "not_found", `There is no ${one} ${JSON.stringify(id)}.`);
  }

  return [
    operation({
      method: "POST",
      path,
      summary: `Creates a ${one}.`,
      body: FIELDS,
      answer: RECORD,
      status: 201,
      errors: [404],
      run: ({ caller, body, param }) => caller.mailbox.create(collectionOf(caller, param("collection")), body),
    }),
    operation({
      method: "GET",
      path: `${path}/:id`,
      summary: `Gets a ${one}.`,
      answer: RECORD,
      errors: [404],
      run: ({ caller, param }) =>
        found(collectionOf(caller, param("collection")).records.get(param("id")), param("id")),
    }),
    operation({
      method: "PATCH",
      path: `${path}/:id`,
      summary: `Updates a ${one}.`,
      body: FIELDS,
      answer: RECORD,
      errors: [404],
      run: ({ caller, body, param }) =>
        found(caller.mailbox.update(collectionOf(caller, param("collection")), param("id"), body), param("id")),
    }),
    operation({
      method: "DELETE",
      path: `${path}/:id`,
      summary: `Deletes a ${one}.`,
      errors: [404],
      run({ caller, param }) {
        found(caller.mailbox.remove(collectionOf(caller, param("collection")), param("id")), param("id"));
      },
    }),
  ];
}
