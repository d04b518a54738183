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

export const createFifo = <T>(): Fifo<T> => new ArrayFifo<T>();

/** A class, since one is made for each claim of a lane that is alone: methods of its own would cost more than the rest of the claim. */
class ArrayFifo<T> implements Fifo<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#first === this.#items.length) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first += 1;
    if (this.#first === this.#items.length || (this.#first > COMPACT_FROM && this.#first * 2 > this.#items.length)) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  peek(): T | undefined {
    return this.#items[this.#first];
  }

  filter(wanted: (item: T) => boolean): void {
    this.#items = (this.#items.slice(this.#first) as T[]).filter(wanted);
    this.#first = 0;
  }

  get size(): number {
    return this.#items.length - this.#first;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let index = this.#first; index < this.#items.length; index += 1) yield this.#items[index] as T;
  }
}
