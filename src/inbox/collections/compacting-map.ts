/** A map for entries that come and go by the thousands. Do not change it while iterating. */
export interface CompactingMap<K, V> {
  /** As a `Map` does. */
  get(key: K): V | undefined;
  /** To the end of the map, where it is new. */
  set(key: K, value: V): void;
  /** Whether it was there. */
  delete(key: K): boolean;
  /** In the order of `set`. */
  entries(): MapIterator<[K, V]>;
  /** In the order of `set`. */
  values(): MapIterator<V>;
  /** Entries. */
  readonly size: number;
}

/** A copy is worth it after so many deletions, and after as many as there are entries. */
const COPY_AFTER = 1_000;

/**
 * V8 replaces the table of a `Map` as entries come and go. A replaced table refers to its successor: once one of them is in the old
 * generation, all successors stay alive with their entries until a full collection. Half of what should die young is then copied twice.
 * A copy of the map has no such predecessor.
 */
export function createCompactingMap<K, V>(): CompactingMap<K, V> {
  let map = new Map<K, V>();
  let deleted = 0;
  return {
    get: (key) => map.get(key),
    set(key, value) {
      map.set(key, value);
    },
    delete(key) {
      if (!map.delete(key)) return false;
      deleted += 1;
      if (deleted >= COPY_AFTER && deleted >= map.size) {
        map = new Map(map);
        deleted = 0;
      }
      return true;
    },
    entries: () => map.entries(),
    values: () => map.values(),
    get size() {
      return map.size;
    },
  };
}
