import * as z from "zod";
import type { Collection, Mailbox, MailboxRecord, RemovedRecord } from "../accounts/mailbox.ts";
import { ApiError } from "../http/routes.ts";
import type { Page } from "./pages.ts";
import { pageSchema, pageToken } from "./schemas.ts";

/** How long a delta sync takes to begin, and how long its tokens hold. @see protocol 8, where the lifetime is "not shown" */
export interface DeltaSyncOptions {
  /** After the first start of an account's resource, milliseconds: until then `ready` is false. @default 0 */
  readonly readyAfterMs?: number | undefined;
  /** Afterwards a token gets 410, milliseconds. @default no limit */
  readonly tokenLifeMs?: number | undefined;
}

/** What one delta sync is about. @typeParam S its window, as its tokens carry it */
export interface DeltaSource<S> {
  readonly mailbox: Mailbox;
  readonly collection: Collection;
  /** A token of another account or resource is refused. */
  readonly resource: string;
  /** Whether a record is inside the window. */
  readonly isInside: (record: MailboxRecord, window: S) => boolean;
  /** Present time, milliseconds. */
  readonly now: number;
}

/** A page of a delta sync. */
export interface DeltaPage<T> extends Page<T> {
  /** On the last page alone. */
  readonly nextDeltaToken?: string;
}

/** The two ways to ask: with the token of a walk, or with that of its next page. */
export const DELTA_QUERY = z
  .object({ deltaToken: z.string().optional(), pageToken })
  .refine(({ deltaToken = "", pageToken: page = "" }) => deltaToken !== "" || page !== "", {
    path: ["deltaToken"],
    error: "there is neither a deltaToken nor a pageToken",
  });

/** @see protocol 4.1, "sync status", whose schema is not shown */
export const SYNC_STATUS = z.looseObject({
  syncUpdatedToken: z.string(),
  syncDeletedToken: z.string(),
  ready: z.boolean(),
});

export const deltaPageSchema = (record: z.ZodType) =>
  pageSchema(record).extend({ nextDeltaToken: z.string().optional() });

type Chain = "updated" | "deleted";

/**
 * Starts delta syncs and walks them. Changes have numbers; a walk takes those up to the number at its first page, and the next one goes on
 * from there. So a record that changes during a walk is in the next one, and a token can be used again.
 *
 * @param windowSchema of the windows in its tokens
 */
export function createDeltaSync<S>(windowSchema: z.ZodType<S>, options: DeltaSyncOptions) {
  const { readyAfterMs = 0, tokenLifeMs = Infinity } = options;
  const startedAt = new WeakMap<Collection, number>();
  const TOKEN = z.strictObject({
    resource: z.string(),
    chain: z.enum(["updated", "deleted"]),
    window: windowSchema,
    issuedAt: z.number(),
    /** Changes after this one. */
    since: z.int(),
    /** Of a page token: up to this change. */
    upTo: z.int().optional(),
  });
  type Token = z.output<typeof TOKEN>;

  /** @throws ApiError 400 `token.notValid`, 410 `token.expired` */
  function readToken(text: string, { resource, now }: DeltaSource<S>, chain: Chain): Token {
    const result = TOKEN.safeParse(parsed(text));
    if (!result.success || result.data.resource !== resource || result.data.chain !== chain)
      throw new ApiError(400, "token.notValid", `The token does not belong to the chain "${chain}" of ${resource}.`);
    if (now - result.data.issuedAt <= tokenLifeMs) return result.data;
    throw new ApiError(410, "token.expired", "The token has expired. Start the sync again.");
  }

  function walk<T>(source: DeltaSource<S>, { chain, query, changes }: Walk<S, T>): DeltaPage<T> {
    const isPage = (query.pageToken ?? "") !== "";
    const token = readToken((isPage ? query.pageToken : query.deltaToken) ?? "", source, chain);
    if (isPage !== (token.upTo !== undefined))
      throw new ApiError(400, "token.notValid", "A deltaToken was given as a pageToken, or the reverse.");
    const { upTo = source.mailbox.version, ...walked } = token;
    const found = changes(walked.window)
      .filter(({ version }) => version > token.since && version <= upTo)
      .toSorted((a, b) => a.version - b.version);
    const page = found.slice(0, query.pageSize);
    const last = page.at(-1);
    const isLast = last === undefined || page.length === found.length;
    return {
      records: page.map(({ item }) => item),
      length: page.length,
      ...(isLast
        ? { nextDeltaToken: toText({ ...walked, since: upTo, issuedAt: source.now }) }
        : { nextPageToken: toText({ ...walked, since: last.version, upTo }) }),
    };
  }

  return {
    start({ mailbox, collection, resource, now }: DeltaSource<S>, window: S): z.output<typeof SYNC_STATUS> {
      const firstAt = startedAt.get(collection) ?? now;
      startedAt.set(collection, firstAt);
      if (now < firstAt + readyAfterMs) return { syncUpdatedToken: "", syncDeletedToken: "", ready: false };
      const begin = (chain: Chain, since: number) => toText({ resource, chain, window, issuedAt: now, since });
      return {
        syncUpdatedToken: begin("updated", 0),
        syncDeletedToken: begin("deleted", mailbox.version),
        ready: true,
      };
    },
    /** First all records of the window, then those that changed. */
    updated(
      source: DeltaSource<S>,
      query: DeltaQuery,
    ): DeltaPage<{ readonly record: MailboxRecord; readonly window: S }> {
      const { records, versionOf } = source.collection;
      return walk(source, {
        chain: "updated",
        query,
        changes: (window) =>
          [...records.values()]
            .filter((record) => source.isInside(record, window))
            .map((record) => ({ version: versionOf.get(record.id) ?? 0, item: { record, window } })),
      });
    },
    /** Records that were deleted, and those that left the window. */
    deleted(source: DeltaSource<S>, query: DeltaQuery): DeltaPage<Omit<RemovedRecord, "version">> {
      const { records, versionOf, removed } = source.collection;
      return walk(source, {
        chain: "deleted",
        query,
        changes: (window) => [
          ...removed.map(({ version, ...item }) => ({ version, item })),
          ...[...records.values()]
            .filter((record) => !source.isInside(record, window))
            .map((record) => ({
              version: versionOf.get(record.id) ?? 0,
              item: { record, timestamp: record.lastModifiedTime },
            })),
        ],
      });
    },
  };
}

/** A request for a page. */
export interface DeltaQuery {
  readonly deltaToken?: string | undefined;
  readonly pageToken?: string | undefined;
  readonly pageSize: number;
}

interface Walk<S, T> {
  readonly chain: Chain;
  readonly query: DeltaQuery;
  readonly changes: (window: S) => readonly { readonly version: number; readonly item: T }[];
}

function toText(token: object): string {
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
}
