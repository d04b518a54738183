import { ApiError } from "../http/routes.ts";

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

/**
 * The records behind a token, in the order in which they came. What is added or removed between two pages moves no other record: none comes
 * twice, and none is left out.
 *
 * @param records with the number under which each came
 * @throws ApiError 400 `token.notValid`
 */
export function pageOf<T>(
  records: Iterable<readonly [nth: number, record: T]>,
  { list, pageToken = "", pageSize }: PageRequest,
): Page<T> {
  const after = pageToken === "" ? -Infinity : readToken(pageToken, list);
  const rest = [...records].filter(([nth]) => nth > after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return {
    records: page.map(([, record]) => record),
    length: page.length,
    ...(last !== undefined && rest.length > pageSize && { nextPageToken: toToken(list, last[0]) }),
  };
}

function toToken(list: string, nth: number): string {
  return Buffer.from(JSON.stringify([list, nth])).toString("base64url");
}

function readToken(token: string, list: string): number {
  try {
    const [of, nth] = JSON.parse(Buffer.from(token, "base64url").toString()) as readonly [unknown, unknown];
    if (of === list && typeof nth === "number") return nth;
  } catch {
    // The same answer as to a token of another list.
  }
  throw new ApiError(400, "token.notValid", "The page token is invalid.");
}
