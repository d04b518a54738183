import { HooklineError } from "../errors.ts";
import type { Loose } from "../protocol/read-fields.ts";
import { AnswerProblem, flag, listReader, number, recordReader, type Reader } from "./records/reader.ts";

/** A page of a list. @see protocol 2.1, pages and tokens */
export interface Page<T> {
  readonly records: readonly T[];
  /** Absent on the last page. */
  readonly nextPageToken?: string;
  /** Of a sync, on the last page alone: where the next walk begins. */
  readonly nextDeltaToken?: string;
}

/** A list: `for await (const record of ...)` walks all of it; `pages()` gives page after page, `page(token)` a single one. */
export interface Paged<T, P extends Page<T> = Page<T>> extends AsyncIterable<T> {
  /** All pages, from the first. */
  pages(): AsyncIterable<P>;
  /** One page: the first one, or the one behind a `nextPageToken`. */
  page(pageToken?: string): Promise<P>;
}

/** @param fetchPage asks for the page behind a token; the first without one */
export function createPaged<T, P extends Page<T> = Page<T>>(
  fetchPage: (pageToken: string | undefined) => Promise<P>,
): Paged<T, P> {
  async function fetchNext(token: string | undefined): Promise<P> {
    const page = await fetchPage(token);
    if (token === undefined || page.nextPageToken !== token) return page;
    throw new HooklineError("page-repeated", "The service gave the token of a page on that page: its list never ends.");
  }

  async function* pages(): AsyncGenerator<P, void, undefined> {
    let token: string | undefined;
    do {
      const page = await fetchNext(token);
      yield page;
      token = page.nextPageToken;
    } while (token !== undefined);
  }

  return {
    pages,
    page: (pageToken) => fetchNext(pageToken === "" ? undefined : pageToken),
    async *[Symbol.asyncIterator]() {
      for await (const { records } of pages()) yield* records;
    },
  };
}

/** Reads pages. @param fields where the records are, if not in `records` */
export function pageReader<T>(read: Reader<T>, ...fields: readonly string[]): Reader<Page<T>> {
  const readRecords = listReader(read, "records", ...fields);
  return (json) => {
    if (typeof json !== "object" || json === null) throw new AnswerProblem("it is no page");
    const { nextPageToken, nextDeltaToken } = json as Loose;
    return {
      records: readRecords(json),
      ...(isToken(nextPageToken) && { nextPageToken }),
      ...(isToken(nextDeltaToken) && { nextDeltaToken }),
    };
  };
}

/** Reads pages that are counted: the token of the next one is the number of records before it. @see service-facts 2.3 */
export function countedPageReader<T>(read: Reader<T>): Reader<Page<T>> {
  const readRecords = listReader(read, "records");
  return (json) => {
    const records = readRecords(json);
    const { offset = 0, done = true } = readCounts(json);
    return done || records.length === 0 ? { records } : { records, nextPageToken: String(offset + records.length) };
  };
}

const readCounts = recordReader<{ offset?: number; done?: boolean }>({ offset: number, done: flag });

function isToken(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
