import * as z from "zod";
import type { EmulatedService } from "../../emulated-service.ts";
import type { Route } from "../../http/routes.ts";
import { MESSAGE, toView } from "./message-view.ts";
import { messagesOf } from "./messages.ts";
import { bodyType } from "../schemas.ts";
import { syncRoutes } from "../sync-routes.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const DAY_MS = 86_400_000;
/** A hundred years. */
const MAX_DAYS = 36_525;

/** Delta sync of messages. @see protocol 4.1, email sync */
export function emailSyncRoutes(service: EmulatedService, options: UnifiedOptions): readonly Route[] {
  const now = (): number => service.clock.now();
  return syncRoutes(service, options, {
    tag: "Email sync",
    path: "/v1/email/sync",
    records: "messages",
    query: z.object({ daysWithin: z.coerce.number().int().min(0).max(MAX_DAYS).default(MAX_DAYS), bodyType }),
    window: z.strictObject({ receivedAfter: z.number(), bodyType }),
    toWindow: (query) => ({ receivedAfter: now() - query.daysWithin * DAY_MS, bodyType: query.bodyType }),
    isInside: ({ createdTime }, { receivedAfter }) => Date.parse(createdTime) >= receivedAfter,
    find: (account) => ({ collection: messagesOf(account), name: `messages of account ${account.id}` }),
    record: MESSAGE,
    toRecord: (record, { account, window }) =>
      toView(record, { account, bodyType: window.bodyType, isPreview: !account.hasBodiesInLists, now: now() }),
    deletedFields: (record, account) => ({
      internetMessageId: record["internetMessageId"],
      folderId: account.folders.idFor(record),
    }),
  });
}
