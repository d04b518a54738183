import type { Send } from "../http/transport.ts";
import { readContact, type Contact } from "../records/contact.ts";
import type { DeletedRecord } from "../records/sync.ts";
import type { RequestOptions } from "../request-options.ts";
import { createDeltaSync, type DeltaSync } from "./delta-sync.ts";
import { createRecords, savedReader, toIfMatch, type SavedRecord, type UpdateOptions } from "./records.ts";

/** Contacts of the account. The service lists them by `sync` alone. */
export interface Contacts {
  /** `GET /v1/contacts/{id}`. @throws NotFound */
  get(id: string, options?: GetContactOptions): Promise<Contact>;
  /** `POST /v1/contacts`. Never repeated by itself: it could make two. */
  create(contact: object, options?: RequestOptions): Promise<SavedRecord<Contact>>;
  /** `PATCH /v1/contacts/{id}`. @throws PreconditionFailed when the contact has another `etag` by now; NotFound */
  update(id: string, contact: object, options: UpdateOptions): Promise<SavedRecord<Contact>>;
  /** `DELETE /v1/contacts/{id}`. @throws NotFound */
  delete(id: string, options?: RequestOptions): Promise<void>;
  /** `POST /v1/contacts/sync` and its walks: changes since a token. */
  readonly sync: DeltaSync<Contact, DeletedRecord, void>;
}

/** What is wanted of a contact. */
export interface GetContactOptions extends RequestOptions {
  /** Of the notes. @default "text" */
  bodyType?: "html" | "text" | undefined;
  /** Fields of the provider's own that are wanted as well. */
  nativeProperties?: readonly string[] | undefined;
  /** With its `photo`. @default false */
  withPhoto?: boolean | undefined;
  /** @default false */
  includeUpdateToken?: boolean | undefined;
}

const PATH = "/v1/contacts";
const readSaved = savedReader(readContact);

export function createContacts(send: Send): Contacts {
  const records = createRecords(send, { path: PATH, read: readContact, readSaved });
  return {
    get: (id, { bodyType, nativeProperties, withPhoto, includeUpdateToken, ...options } = {}) =>
      records.get(id, options, { bodyType, nativeProperties, withPhoto, includeUpdateToken }),
    create: records.create,
    async update(id, contact, given: UpdateOptions | undefined) {
      const { ifMatch, ...options } = given ?? ({} as UpdateOptions);
      return records.update(id, contact, { ...options, headers: toIfMatch(ifMatch, "contact") });
    },
    delete: records.delete,
    sync: createDeltaSync(send, { path: `${PATH}/sync`, toQuery: () => ({}), read: readContact }),
  };
}
