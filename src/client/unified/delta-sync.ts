import type { PathParams, Query } from "../http/url.ts";
import type { Send } from "../http/transport.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import type { Reader } from "../records/reader.ts";
import { readDeletedRecord, readSyncStart, type DeletedRecord, type SyncStart } from "../records/sync.ts";
import type { RequestOptions } from "../request-options.ts";

/**
 * Changes since a token. Two walks with a token each: `updated` and `deleted`. The last page of a walk has its `nextDeltaToken`: store it
 * when the records of all pages are applied, never before.
 *
 * @see protocol 2.1, pages and tokens
 */
export interface DeltaSync<T, D, S> {
  /** `POST .../sync`: gives the first token of each walk, once it is `ready`. */
  start(options: S, request?: RequestOptions): Promise<SyncStart>;
  /** `GET .../sync/updated`: what was created or changed. @throws TokenExpired: start again */
  updated(options: DeltaOptions): Paged<T>;
  /** `GET .../sync/deleted`: what is gone. @throws TokenExpired: start again */
  deleted(options: DeltaOptions): Paged<D>;
}

/** Where a walk begins. */
export interface DeltaOptions extends RequestOptions {
  deltaToken: string;
}

interface DeltaSyncParts<T, S> {
  readonly path: string;
  readonly params?: PathParams;
  readonly toQuery: (options: S) => Query;
  readonly read: Reader<T>;
}

const readDeleted = pageReader(readDeletedRecord);

export function createDeltaSync<T, S>(
  send: Send,
  { path, params = {}, toQuery, read }: DeltaSyncParts<T, S>,
): DeltaSync<T, DeletedRecord, S> {
  const readUpdated = pageReader(read);

  return {
    start: async (options, request) =>
      send({
        method: "POST",
        path,
        params,
        query: toQuery(options),
        // It only gives tokens.
        repeatable: true,
        read: readSyncStart,
        options: request,
      }),
    updated: ({ deltaToken, ...options }) =>
      createPaged((pageToken) =>
        send({
          method: "GET",
          path: `${path}/updated`,
          params,
          query: queryOf(deltaToken, pageToken),
          read: readUpdated,
          options,
        }),
      ),
    deleted: ({ deltaToken, ...options }) =>
      createPaged((pageToken) =>
        send({
          method: "GET",
          path: `${path}/deleted`,
          params,
          query: queryOf(deltaToken, pageToken),
          read: readDeleted,
          options,
        }),
      ),
  };
}

/** A page token stands alone: it knows its walk. */
function queryOf(deltaToken: string, pageToken: string | undefined): Query {
  return pageToken === undefined ? { deltaToken } : { pageToken };
}
