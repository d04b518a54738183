import * as z from "zod";
import type { Account } from "../accounts/account.ts";
import type { Collection, MailboxRecord } from "../accounts/mailbox.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { operationsOf } from "../http/operation.ts";
import type { Route } from "../http/routes.ts";
import { reachableAccountOf } from "./authenticate.ts";
import { createDeltaSync, DELTA_QUERY, deltaPageSchema, SYNC_STATUS, type DeltaSource } from "./delta-sync.ts";
import type { UnifiedOptions } from "./unified-routes.ts";

/** The delta sync of one kind of collection. @typeParam W its window, as its tokens carry it */
export interface SyncParts<K extends Collection, Q extends z.ZodObject, W> {
  readonly tag: string;
  /** Where a sync is started; its walks are below. */
  readonly path: string;
  /** What is listed, in the plural. */
  readonly records: string;
  /** Of the start. */
  readonly query: Q;
  readonly window: z.ZodType<W>;
  readonly toWindow: (query: z.output<Q>) => W;
  /** Whether a record is inside the window. */
  readonly isInside: (record: MailboxRecord, window: W) => boolean;
  /** The collection, and its name: a token of another one is refused. @throws ApiError 404 */
  readonly find: (
    account: Account,
    param: (name: string) => string,
  ) => { readonly collection: K; readonly name: string };
  readonly record: z.ZodType;
  readonly toRecord: (record: MailboxRecord, context: SyncContext<K, W>) => object;
  /** What a record that is gone has beside its id and the time. */
  readonly deletedFields?: (record: MailboxRecord, account: Account) => object;
  readonly errors?: readonly number[];
}

/** Where a record is listed. */
interface SyncContext<K extends Collection, W> {
  readonly account: Account;
  readonly collection: K;
  readonly window: W;
}

/** Start, `updated` and `deleted`. @see protocol 4.1, "Calendar sync" and "Email sync" */
export function syncRoutes<K extends Collection, Q extends z.ZodObject, W>(
  service: EmulatedService,
  { pageSize, deltaSync }: UnifiedOptions,
  parts: SyncParts<K, Q, W>,
): readonly Route[] {
  const { tag, path, records, query, window, toWindow, isInside, find, record, toRecord } = parts;
  const { deletedFields = () => ({}), errors = [] } = parts;
  const sync = createDeltaSync(window, deltaSync);
  const operation = operationsOf({ tag, auth: "bearer", caller: (context) => reachableAccountOf(service, context) });
  const deleted = z.looseObject({ id: z.string(), timestamp: z.string() });

  function sourceOf(account: Account, param: (name: string) => string): DeltaSource<W> & { readonly collection: K } {
    const { collection, name } = find(account, param);
    return { mailbox: account.mailbox, collection, resource: name, isInside, now: service.clock.now() };
  }

  return [
    operation({
      method: "POST",
      path,
      summary: `Starts a delta sync of ${records}.`,
      query,
      answer: SYNC_STATUS,
      errors,
      run: ({ caller, query: given, param }) => sync.start(sourceOf(caller, param), toWindow(given)),
    }),
    operation({
      method: "GET",
      path: `${path}/updated`,
      summary: `Lists ${records} that are new or have changed.`,
      query: DELTA_QUERY,
      answer: deltaPageSchema(record),
      errors: [...errors, 410],
      run({ caller, query: given, param }) {
        const source = sourceOf(caller, param);
        const page = sync.updated(source, { ...given, pageSize });
        const { collection } = source;
        return {
          ...page,
          records: page.records.map((one) => toRecord(one.record, { account: caller, collection, window: one.window })),
        };
      },
    }),
    operation({
      method: "GET",
      path: `${path}/deleted`,
      summary: `Lists ${records} that were deleted, or have left the window.`,
      query: DELTA_QUERY,
      answer: deltaPageSchema(deleted),
      errors: [...errors, 410],
      run({ caller, query: given, param }) {
        const page = sync.deleted(sourceOf(caller, param), { ...given, pageSize });
        const listed = page.records.map(({ record: gone, timestamp }) =>
          Object.assign({ id: gone.id }, deletedFields(gone, caller), { timestamp }),
        );
        return { ...page, records: listed };
      },
    }),
  ];
}
