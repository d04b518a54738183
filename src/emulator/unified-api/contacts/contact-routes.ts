import * as z from "zod";
import { etagOf } from "../../accounts/etag.ts";
import type { Account } from "../../accounts/account.ts";
import type { Collection, MailboxRecord } from "../../accounts/mailbox.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, type Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { assertMatches, IF_MATCH } from "../if-match.ts";
import { flag, nativeProperties } from "../schemas.ts";
import { syncRoutes } from "../sync-routes.ts";
import type { UnifiedOptions } from "../unified-routes.ts";
import { CONTACT, CONTACT_FIELDS, CONTACT_OR_ID, toContactFields } from "./contact-schemas.ts";

const PATH = "/v1/contacts";
const BODY_TYPE = z.enum(["html", "text"]).default("text");
const GET = z.object({
  bodyType: BODY_TYPE,
  nativeProperties,
  withPhoto: flag(false),
  includeUpdateToken: flag(false),
});

/** Contacts of an account: the service lists them by a delta sync alone. @see protocol 4.1, where they are "not shown" */
export function contactRoutes(service: EmulatedService, options: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Contacts",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });

  return [
    operation({
      method: "POST",
      path: PATH,
      summary: "Creates a contact.",
      causes: "contact.created",
      body: CONTACT_FIELDS,
      answer: CONTACT_OR_ID,
      status: 201,
      run: ({ caller, body }) => toContactOrId(caller.mailbox.create(contactsOf(caller), toContactFields(body))),
    }),
    operation({
      method: "GET",
      path: `${PATH}/:id`,
      summary: "Gets a contact.",
      query: GET,
      answer: CONTACT,
      errors: [404],
      run: ({ caller, query, param }) => toContact(contactOf(caller, param("id")), query.withPhoto),
    }),
    operation({
      method: "PATCH",
      path: `${PATH}/:id`,
      summary: "Updates a contact.",
      causes: "contact.updated",
      headers: IF_MATCH,
      body: CONTACT_FIELDS,
      answer: CONTACT_OR_ID,
      errors: [404, 412],
      run({ caller, body, param, context }) {
        const old = contactOf(caller, param("id"));
        assertMatches(context, etagOf(old), "contact");
        caller.mailbox.update(contactsOf(caller), old.id, toContactFields(body));
        return toContactOrId(contactOf(caller, old.id));
      },
    }),
    operation({
      method: "DELETE",
      path: `${PATH}/:id`,
      summary: "Deletes a contact.",
      isExact: true,
      causes: "contact.deleted",
      errors: [404],
      run({ caller, param }) {
        caller.mailbox.remove(contactsOf(caller), contactOf(caller, param("id")).id);
      },
    }),
    ...syncRoutes(service, options, {
      tag: "Contacts",
      path: `${PATH}/sync`,
      records: "contacts",
      query: z.object({}),
      window: z.strictObject({}),
      toWindow: () => ({}),
      isInside: () => true,
      find: (account) => ({ collection: contactsOf(account), name: `contacts of account ${account.id}` }),
      record: CONTACT,
      toRecord: (record) => toContact(record, false),
    }),
  ];
}

function contactsOf({ mailbox }: Account): Collection {
  return mailbox.collection("/contacts");
}

/** @throws ApiError 404 */
function contactOf(account: Account, id: string): MailboxRecord {
  const contact = contactsOf(account).records.get(id);
  if (contact !== undefined) return contact;
  throw new ApiError(404, "not_found", `There is no contact ${JSON.stringify(id)}.`);
}

/** A contact as it is shown: a list, and one that is asked for without it, has no photo. */
function toContact(record: MailboxRecord, withPhoto: boolean): object {
  const { photo, ...contact } = record;
  const hasPhoto = photo !== undefined && photo !== null;
  return { ...contact, etag: etagOf(record), hasPhoto, ...(withPhoto && hasPhoto && { photo }) };
}

function toContactOrId(record: MailboxRecord): object {
  return { id: record.id, etag: etagOf(record), record: toContact(record, false) };
}
