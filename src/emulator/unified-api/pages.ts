import { ApiError } from "../http/routes.ts";

/** Records of a page. */
export const DEFAULT_PAGE_SIZE = 50;

/** A page of a list, as the unified API gives it. @see protocol 2.1 */
export interface Page<T> {
  readonly records: readonly T[];
  readonly length: number;
  readonly nextPageToken?: string;
}

/** One list, and how it is paged through. */
export interface PageRequest {
  /** What is listed: a token of another list is refused. */
  readonly list: string;
  /** Empty or undefined for the first page. */
  readonly pageToken: string | undefined;
  readonly pageSize: number;
}

/** Where a record is in its list, for good: the number under which it came, or that and its place among others of the same number. */
export type Position = number | readonly [nth: number, place: number];

type Positioned<T> = Iterable<readonly [position: Position, record: T]>;

/**
 * The records behind a token, in the order in which they came. What is added or removed between two pages moves no other record: none comes
 * twice, and none is left out.
 *
 * @param records with the position of each, in their order; or a function that gives those behind a number
 * @throws ApiError 400 `token.notValid`
 */
export function pageOf<T>(
  records: Positioned<T> | ((after: number) => Positioned<T>),
  { list, pageToken = "", pageSize }: PageRequest,
): Page<T> {
  const after = pageToken === "" ? ([-Infinity, 0] as const) : readToken(pageToken, list);
  const rest = [...(typeof records === "function" ? records(after[0]) : records)].filter(
    ([position]) => compare(toPair(position), after) > 0,
  );
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return {
    records: page.map(([, record]) => record),
    length: page.length,
    ...(last !== undefined && rest.length > pageSize && { nextPageToken: toToken(list, last[0]) }),
  };
}

type Pair = readonly [nth: number, place: number];

function toPair(position: Position): Pair {
  return typeof position === "number" ? [position, 0] : position;
}

function compare([nth, place]: Pair, [otherNth, otherPlace]: Pair): number {
  return nth - otherNth || place - otherPlace;
}

function toToken(list: string, position: Position): string {
  return Buffer.from(JSON.stringify([list, ...toPair(position)])).toString("base64url");
}

function readToken(token: string, list: string): Pair {
  try {
    const [of, nth, place] = JSON.parse(Buffer.from(token, "base64url").toString()) as readonly unknown[];
    if (of === list && typeof nth === "number" && typeof place === "number") return [nth, place];
  } catch {
    // The same answer as to a token of another list.
  }
  throw new ApiError(400, "token.notValid", "The page token is invalid.");
}
