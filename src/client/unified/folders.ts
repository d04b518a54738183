import type { Client } from "../create-client.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import { readFolder, readWellKnown, type Folder, type WellKnownFolders } from "../records/folder.ts";
import { readMessage, type Message } from "../records/message.ts";
import type { RequestOptions } from "../request-options.ts";
import type { BodyTypeOptions } from "./messages.ts";
import { sendOf } from "./part.ts";

/** Folders of messages. @see the service's public description, email/folders */
export interface Folders {
  /** `GET /v1/email/folders` */
  list(options?: RequestOptions): Paged<Folder>;
  /** `POST /v1/email/folders` */
  create(body: NewFolder, options?: RequestOptions): Promise<Folder>;
  /** `GET /v1/email/folders/{folderId}`. @throws NotFound */
  get(id: string, options?: RequestOptions): Promise<Folder>;
  /** `GET /v1/email/folders/{folderId}/messages`, newest first. @throws NotFound */
  messages(id: string, options?: FolderMessagesOptions): Paged<Message>;
  /** `GET /v1/email/folders/wellKnown`: where messages go that are sent or archived. */
  wellKnown(options?: RequestOptions): Promise<WellKnownFolders>;
  /** `PATCH /v1/email/folders/wellKnown` */
  setWellKnown(body: WellKnownFolders, options?: RequestOptions): Promise<WellKnownFolders>;
}

/** What a folder is created with. */
export interface NewFolder {
  name: string;
  /** @default at the top */
  parentId?: string | undefined;
}

/** Which messages of a folder are listed. */
export interface FolderMessagesOptions extends BodyTypeOptions {
  /** A search, such as `from:ada@example.com`. */
  q?: string | undefined;
  /** Fields of the provider's own that are wanted as well. */
  nativeProperties?: readonly string[] | undefined;
}

const readPage = pageReader(readFolder);
const readMessages = pageReader(readMessage);
const FOLDERS = "/v1/email/folders";
const FOLDER = `${FOLDERS}/{folderId}`;
const WELL_KNOWN = `${FOLDERS}/wellKnown`;

/** The folders of a client's account: a part of its own, of which a program that does not use it has nothing. */
export function foldersOf(client: Client): Folders {
  const send = sendOf(client);
  return {
    list: (options) =>
      createPaged((pageToken) => send({ method: "GET", path: FOLDERS, query: { pageToken }, read: readPage, options })),
    create: (body, options) => send({ method: "POST", path: FOLDERS, body, read: readFolder, options }),
    get: (folderId, options) => send({ method: "GET", path: FOLDER, params: { folderId }, read: readFolder, options }),
    messages: (folderId, { q, bodyType, nativeProperties, ...options } = {}) =>
      createPaged((pageToken) =>
        send({
          method: "GET",
          path: `${FOLDER}/messages`,
          params: { folderId },
          query: { pageToken, q, bodyType, nativeProperties },
          read: readMessages,
          options,
        }),
      ),
    wellKnown: (options) => send({ method: "GET", path: WELL_KNOWN, read: readWellKnown, options }),
    setWellKnown: (body, options) =>
      // The same folders twice are the same folders.
      send({ method: "PATCH", path: WELL_KNOWN, body, repeatable: true, read: readWellKnown, options }),
  };
}
