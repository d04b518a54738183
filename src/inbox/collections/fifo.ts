/** A queue with constant cost at any length. */
export interface Fifo<T> {
  push(item: T): void;
  shift(): T | undefined;
  peek(): T | undefined;
  /** Removes all items but the wanted ones. */
  filter(wanted: (item: T) => boolean): void;
  readonly size: number;
  [Symbol.iterator](): Iterator<T>;
}

/** With fewer taken items, freeing their space is not worth a copy. */
const COMPACT_FROM = 1_024;

export function createFifo<T>(): Fifo<T> {
  let items: (T | undefined)[] = [];
  let first = 0;
  return {
    push(item) {
      items.push(item);
    },
    shift() {
      if (first === items.length) return undefined;
      const item = items[first];
      items[first] = undefined;
      first += 1;
      if (first === items.length || (first > COMPACT_FROM && first * 2 > items.length)) {
        items = items.slice(first);
        first = 0;
      }
      return item;
    },
    peek: () => items[first],
    filter(wanted) {
      items = (items.slice(first) as T[]).filter(wanted);
      first = 0;
    },
    get size() {
      return items.length - first;
    },
    *[Symbol.iterator]() {
      for (let index = first; index < items.length; index += 1) yield items[index] as T;
    },
  };
}
