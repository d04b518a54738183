/** Rows by id, in order and from any id on, at a cost that does not grow with their number. */
export interface OrderedPages<R> {
  /** Cheapest with a greater id than all before it. */
  add(row: R): void;
  get(id: number): R | undefined;
  /** Whether it was there. */
  delete(id: number): boolean;
  /** Rows of a range of ids, of which `after` is not, in order. */
  between(after: number, to: number): Generator<R, void, undefined>;
  readonly size: number;
}

/** Ids to a page. */
const PAGE = 1_024;

/**
 * A map for each thousand ids. A single map of a million rows that come and go is copied as a whole now and then after deletes, which
 * keeps deleted rows alive; and it can be iterated only from its beginning.
 */
export function createOrderedPages<R extends { readonly id: number }>(): OrderedPages<R> {
  let pages = new Map<number, Map<number, R>>();
  let size = 0;
  /** The greatest id so far; and the pages that one came into that was not. */
  let greatest = -Infinity;
  const unsorted = new Set<number>();

  /** Not at each `add`: many that come late come together. */
  function sort(): void {
    for (const number of unsorted) {
      const page = pages.get(number);
      if (page !== undefined) pages.set(number, new Map([...page].toSorted(([a], [b]) => a - b)));
    }
    if (unsorted.size > 0) pages = new Map([...pages].toSorted(([a], [b]) => a - b));
    unsorted.clear();
  }

  return {
    add(row) {
      const number = Math.floor(row.id / PAGE);
      let page = pages.get(number);
      if (page === undefined) pages.set(number, (page = new Map()));
      page.set(row.id, row);
      size += 1;
      if (row.id < greatest) unsorted.add(number);
      greatest = Math.max(greatest, row.id);
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
    *between(after, to) {
      sort();
      const [first, last] = [Math.floor(after / PAGE), Math.floor(to / PAGE)];
      for (const [number, page] of pages) {
        if (number < first || number > last) continue;
        for (const row of page.values()) if (row.id > after && row.id <= to) yield row;
      }
    },
    get size() {
      return size;
    },
  };
}
