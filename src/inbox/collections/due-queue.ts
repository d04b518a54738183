import { isDue, type Progress } from "../job-state.ts";

/** Items that wait for a time, soonest first. An item for which `progressOf` gives undefined has left the queue. */
export interface DueQueue<T> {
  push(item: T, at: number, now: number): void;
  /** Removes and returns all items that are due. */
  due(now: number): T[];
  /** Removes and returns one of those that wait long: none but the last is the soonest. */
  takeLate(): T | undefined;
  next(): number | undefined;
}

interface Entry<T> {
  readonly item: T;
  readonly at: number;
}

/** A binary heap by time. */
export function createDueQueue<T>(progressOf: (item: T) => Progress | undefined): DueQueue<T> {
  let heap: Entry<T>[] = [];
  let latest = 0;

  const current = (entry: Entry<T>): boolean => progressOf(entry.item)?.runAt === entry.at;

  function pop(): void {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    sink(heap, 0);
  }

  /** The soonest entry, after dropping items that have left. */
  function top(): Entry<T> | undefined {
    while (heap[0] !== undefined && !current(heap[0])) pop();
    return heap[0];
  }

  return {
    push(item, at, now) {
      latest = Math.max(latest, now);
      heap.push({ item, at });
      rise(heap, heap.length - 1);
    },
    due(now) {
      const items: T[] = [];
      // The wall clock went back: any item may be due by its own delay, so all are checked once.
      if (now < latest) {
        const waiting: Entry<T>[] = [];
        for (const entry of heap) {
          const progress = current(entry) ? progressOf(entry.item) : undefined;
          if (progress === undefined) continue;
          if (isDue(progress, now)) items.push(entry.item);
          else waiting.push(entry);
        }
        heap = waiting.toSorted((a, b) => a.at - b.at);
      }
      latest = now;
      for (let entry = top(); entry !== undefined && entry.at <= now; entry = top()) {
        items.push(entry.item);
        pop();
      }
      return items;
    },
    takeLate() {
      // The end of a heap has no order, and is never in front of what is above it.
      for (let entry = heap.pop(); entry !== undefined; entry = heap.pop()) if (current(entry)) return entry.item;
      return undefined;
    },
    next: () => top()?.at,
  };
}

function rise<T>(heap: Entry<T>[], from: number): void {
  let index = from;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (timeAt(heap, parent) <= timeAt(heap, index)) return;
    swap(heap, index, parent);
    index = parent;
  }
}

function sink<T>(heap: Entry<T>[], from: number): void {
  let index = from;
  for (;;) {
    const left = 2 * index + 1;
    const least = timeAt(heap, left + 1) < timeAt(heap, left) ? left + 1 : left;
    if (timeAt(heap, least) >= timeAt(heap, index)) return;
    swap(heap, index, least);
    index = least;
  }
}

function timeAt<T>(heap: readonly Entry<T>[], index: number): number {
  return heap[index]?.at ?? Infinity;
}

function swap<T>(heap: Entry<T>[], a: number, b: number): void {
  const [first, second] = [heap[a], heap[b]];
  if (first === undefined || second === undefined) return;
  heap[a] = second;
  heap[b] = first;
}
