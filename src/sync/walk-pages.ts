import type { Page } from "../client.ts";
import type { Place } from "./places.ts";

/** What a walk needs. */
export interface WalkParts<T> {
  /** Asks for a page: behind a page token, or the first one of a delta token. */
  readonly fetchPage: (place: Place) => Promise<Page<T>>;
  /** Whether it says that the service takes the token no more. */
  readonly isRefused: (error: unknown) => boolean;
  /** Uses the records of a page. @param next what is saved afterwards */
  readonly use: (records: readonly T[], next: Place) => Promise<void>;
  /** Durable when it resolves. */
  readonly save: (place: Place) => Promise<void>;
  /** Throws where the walk is to stop. */
  readonly proceed: () => void;
}

/** How a walk ended. */
export type WalkResult =
  | {
      readonly place: Place;
      /** It was a single page, so that nothing can have changed during it. */
      readonly isSinglePage: boolean;
    }
  /** The service takes its token no more. */
  | { readonly refusal: unknown };

/**
 * Walks one chain to its end. A place is saved only after the records before it were used, so whatever goes wrong, the next walk begins at or
 * before the first record that was not.
 */
export async function walk<T>(
  from: Place,
  { fetchPage, isRefused, use, save, proceed }: WalkParts<T>,
): Promise<WalkResult> {
  const placeAt = (delta: string, page: string | undefined): Place => ({ ...from, delta, page });
  let place = from;
  let isDropped = false;
  for (let pages = 1; ; pages += 1) {
    proceed();
    let page: Page<T>;
    try {
      page = await fetchPage(place);
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (place.page === undefined || isDropped) return { refusal: error };
      // A page token may end before its walk's own.
      isDropped = true;
      place = placeAt(place.delta, undefined);
      await save(place);
      continue;
    }
    const next = placeAt(deltaAfter(place, page), page.nextPageToken);
    await use(page.records, next);
    await save(next);
    place = next;
    if (next.page === undefined) return { place, isSinglePage: pages === 1 && from.page === undefined };
  }
}

/** On the last page is where the next walk begins. */
function deltaAfter({ delta }: Place, { nextPageToken, nextDeltaToken }: Page<unknown>): string {
  return nextPageToken === undefined ? (nextDeltaToken ?? delta) : delta;
}
