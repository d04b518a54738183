import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import type { Folder } from "../../accounts/folders.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, type Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { pageOf } from "../pages.ts";
import { bodyType, nativeProperties, pageSchema, pageToken } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";
import { MESSAGE } from "./message-view.ts";
import { messagesOf, newestFirst, pageOfViews } from "./messages.ts";
import { toMatches } from "./search.ts";

const FOLDER = z.looseObject({
  id: z.string(),
  name: z.string(),
  fullName: z.string(),
  isFolder: z.boolean(),
  isLabel: z.boolean(),
  parentId: z.string().optional(),
  sysLabel: z.string().optional(),
});
const NEW_FOLDER = z.object({ name: z.string().min(1), parentId: z.string().optional() });
const WELL_KNOWN = z.object({ archive: z.string(), sent: z.string() });
const PATH = "/v1/email/folders";

/** Folders of an account's messages. @see service's public description, email/folders */
export function folderRoutes(service: EmulatedService, { pageSize }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Folders",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });

  return [
    operation({
      method: "GET",
      path: PATH,
      summary: "Lists folders.",
      query: z.object({ pageToken }),
      answer: pageSchema(FOLDER),
      run: ({ caller, query }) =>
        pageOf(caller.folders.all.entries(), { list: "folders", pageToken: query.pageToken, pageSize }),
    }),
    operation({
      method: "POST",
      path: PATH,
      summary: "Creates a folder.",
      body: NEW_FOLDER,
      answer: FOLDER,
      status: 201,
      errors: [404],
      run: ({ caller, body: { name, parentId } }) =>
        caller.folders.add(name, parentId === undefined ? undefined : folderOf(caller, parentId)),
    }),
    operation({
      method: "GET",
      path: `${PATH}/wellKnown`,
      summary: "Tells which folders messages go to that are sent or archived.",
      answer: WELL_KNOWN,
      run: ({ caller }) => caller.folders.wellKnown,
    }),
    operation({
      method: "PATCH",
      path: `${PATH}/wellKnown`,
      summary: "Changes which folders those are.",
      body: WELL_KNOWN.partial(),
      answer: WELL_KNOWN,
      errors: [404],
      run({ caller, body }) {
        for (const id of Object.values(body)) if (id !== undefined) folderOf(caller, id);
        return Object.assign(caller.folders.wellKnown, body);
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/:folderId`,
      summary: "Gets a folder.",
      answer: FOLDER,
      errors: [404],
      run: ({ caller, param }) => folderOf(caller, param("folderId")),
    }),
    operation({
      method: "GET",
      path: `${PATH}/:folderId/messages`,
      summary: "Lists or searches the messages of a folder, the newest first.",
      query: z.object({ pageToken, q: z.string().default(""), bodyType, nativeProperties }),
      answer: pageSchema(MESSAGE),
      errors: [404],
      run({ caller: account, query, param }) {
        const { id } = folderOf(account, param("folderId"));
        const matches = toMatches(query.q);
        const found = newestFirst(
          messagesOf(account),
          (message) => account.folders.idFor(message) === id && matches(message),
        );
        const request = { list: `folder ${id}`, pageToken: query.pageToken, pageSize };
        return pageOfViews(found, request, { account, bodyType: query.bodyType, now: service.clock.now() });
      },
    }),
  ];
}

/** @throws ApiError 404 */
function folderOf({ folders }: Account, id: string): Folder {
  const folder = folders.find(id);
  if (folder !== undefined) return folder;
  throw new ApiError(404, "not_found", `There is no folder ${JSON.stringify(id)}.`);
}
