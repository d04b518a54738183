import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import type { Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { createDeltaSync, DELTA_QUERY, deltaPageSchema, SYNC_STATUS, type DeltaSource } from "../delta-sync.ts";
import { MESSAGE, toView } from "./message-view.ts";
import { messagesOf } from "./messages.ts";
import { bodyType } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const DAY_MS = 86_400_000;
/** A hundred years. */
const MAX_DAYS = 36_525;
const START = z.object({ daysWithin: z.coerce.number().int().min(0).max(MAX_DAYS).default(MAX_DAYS), bodyType });
const WINDOW = z.strictObject({ receivedAfter: z.number(), bodyType });
const DELETED = z.looseObject({
  id: z.string(),
  internetMessageId: z.string().optional(),
  folderId: z.string().optional(),
  timestamp: z.string(),
});

type Window = z.output<typeof WINDOW>;

/** Delta sync of messages. @see protocol 4.1, email sync */
export function emailSyncRoutes(service: EmulatedService, { pageSize, deltaSync }: UnifiedOptions): readonly Route[] {
  const sync = createDeltaSync(WINDOW, deltaSync);
  const operation = operationsOf({
    tag: "Email sync",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });
  const now = (): number => service.clock.now();
  const sourceOf = (account: Account): DeltaSource<Window> => ({
    mailbox: account.mailbox,
    collection: messagesOf(account),
    resource: `messages of account ${account.id}`,
    isInside: ({ createdTime }, { receivedAfter }) => Date.parse(createdTime) >= receivedAfter,
    now: now(),
  });

  return [
    operation({
      method: "POST",
      path: "/v1/email/sync",
      summary: "Starts a delta sync of messages.",
      query: START,
      answer: SYNC_STATUS,
      run: ({ caller, query }) =>
        sync.start(sourceOf(caller), {
          receivedAfter: now() - query.daysWithin * DAY_MS,
          bodyType: query.bodyType,
        }),
    }),
    operation({
      method: "GET",
      path: "/v1/email/sync/updated",
      summary: "Lists messages that are new or have changed.",
      query: DELTA_QUERY,
      answer: deltaPageSchema(MESSAGE),
      errors: [410],
      run({ caller, query }) {
        const page = sync.updated(sourceOf(caller), { ...query, pageSize });
        const isPreview = !caller.hasBodiesInLists;
        const records = page.records.map(({ record, window }) =>
          toView(record, { bodyType: window.bodyType, isPreview, now: now() }),
        );
        return { ...page, records };
      },
    }),
    operation({
      method: "GET",
      path: "/v1/email/sync/deleted",
      summary: "Lists messages that were deleted.",
      query: DELTA_QUERY,
      answer: deltaPageSchema(DELETED),
      errors: [410],
      run({ caller, query }) {
        const page = sync.deleted(sourceOf(caller), { ...query, pageSize });
        const records = page.records.map(({ record: { id, internetMessageId, folderId }, timestamp }) => ({
          id,
          internetMessageId,
          folderId,
          timestamp,
        }));
        return { ...page, records };
      },
    }),
  ];
}
