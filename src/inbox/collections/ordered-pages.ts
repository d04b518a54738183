/** Rows by their ids, in order, and from any id on, at the same cost however many there are. */
export interface OrderedPages<R> {
  /** With a greater id than all before it. */
  add(row: R): void;
  get(id: number): R | undefined;
  /** Whether it was there. */
  delete(id: number): boolean;
  /** Those behind an id, in order. */
  after(id: number): Generator<R, void, undefined>;
  readonly size: number;
}

/** Ids to a page. */
const PAGE = 1_024;

/**
 * A map for each thousand ids. One map of a million rows that come and go pays for deletes with a new table of its whole size now and
 * then, which keeps alive what has gone; and it finds a row in the middle only from its beginning.
 */
export function createOrderedPages<R extends { readonly id: number }>(): OrderedPages<R> {
  const pages = new Map<number, Map<number, R>>();
  let size = 0;

  return {
    add(row) {
      const number = Math.floor(row.id / PAGE);
      let page = pages.get(number);
      if (page === undefined) pages.set(number, (page = new Map()));
      page.set(row.id, row);
      size += 1;
    },
    get: (id) => pages.get(Math.floor(id / PAGE))?.get(id),
    delete(id) {
      const number = Math.floor(id / PAGE);
      const page = pages.get(number);
      if (page?.delete(id) !== true) return false;
      size -= 1;
      if (page.size === 0) pages.delete(number);
      return true;
    },
    *after(id) {
      const first = Math.floor(id / PAGE);
      for (const [number, page] of pages) {
        if (number < first) continue;
        for (const row of page.values()) if (row.id > id) yield row;
      }
    },
    get size() {
      return size;
    },
  };
}
