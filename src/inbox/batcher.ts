import { kindOf } from "../assert.ts";
import type { Clock } from "../clock.ts";
import { createFifo } from "./collections/fifo.ts";

export interface BatcherOptions<T, R> {
  /** Commits items; resolves with a result for each, in order. */
  readonly commit: (items: readonly T[]) => Promise<readonly R[]>;
  /** Size of an item, bytes. */
  readonly sizeOf: (item: T) => number;
  /** The result of all items of a commit that threw. */
  readonly failed: (error: unknown) => R;
  /** When to start a commit while none runs. @default at the end of this turn of the event loop */
  readonly schedule?: ((run: () => void) => void) | undefined;
  /**
   * Time from `add` to the result: after it `late` is the result, and the commit goes on. Once all of a commit are late, the next one begins.
   * Without `late` they go on waiting for their results.
   * @default no deadline
   */
  readonly deadline?: { readonly ms: number; readonly clock: Clock; readonly late?: () => R } | undefined;
}

/** Commits the items of one turn of the event loop together; while a commit runs, the next batch fills. One that hangs stops no other. */
export interface Batcher<T, R> {
  add(item: T): Promise<R>;
  /** The same without a promise, which would cost more than the rest of the work. */
  put(item: T, then: (result: R) => void): void;
  /** Resolves when everything that was added has its result. */
  drained(): Promise<void>;
}

/** Limits of one commit, so that one giant body does not delay the rest. An inbox may put several of them into one transaction. */
const MAX_ITEMS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

/** The commit that runs, and those that hang: each holds its items in memory. */
const MAX_COMMITS = 4;

interface Waiting<T, R> {
  readonly item: T;
  readonly addedAt: number;
  resolve: ((result: R) => void) | undefined;
  isLate: boolean;
}

export function createBatcher<T, R>(options: BatcherOptions<T, R>): Batcher<T, R> {
  const { commit, sizeOf, failed, deadline, schedule = setImmediate } = options;
  const queue = createFifo<Waiting<T, R>>();
  /** In the order of `add`, until each has its result: the first is the next to be late. */
  const unanswered = createFifo<Waiting<T, R>>();
  const idle: (() => void)[] = [];
  let running = false;
  let commits = 0;
  let last: readonly Waiting<T, R>[] = [];
  let timer: { clear(): void } | undefined;

  function answer(waiting: Waiting<T, R>, result: R): void {
    const { resolve } = waiting;
    waiting.resolve = undefined;
    resolve?.(result);
  }

  function begin(): void {
    if (queue.size > 0) {
      last = nextBatch();
      commits += 1;
      void commitBatch(last);
      return;
    }
    running = false;
    watch();
    endDrained();
  }

  async function commitBatch(batch: readonly Waiting<T, R>[]): Promise<void> {
    let results: readonly R[];
    try {
      results = await commit(batch.map((waiting) => waiting.item));
      if (!Array.isArray(results))
        throw new TypeError(`The inbox gave ${kindOf(results)}, expected a list of results.`);
    } catch (error) {
      const result = failed(error);
      results = batch.map(() => result);
    }
    for (const [index, waiting] of batch.entries()) answer(waiting, results[index] as R);
    commits -= 1;
    forgetAnswered();
    goOn();
    endDrained();
  }

  /** The next one begins once the last one has ended, or nobody waits for it any more. */
  function goOn(): void {
    if (running && commits < MAX_COMMITS && last.every(isOver)) begin();
  }

  function endDrained(): void {
    if (!running && commits === 0) for (const resolve of idle.splice(0)) resolve();
  }

  function nextBatch(): Waiting<T, R>[] {
    const batch: Waiting<T, R>[] = [];
    let bytes = 0;
    for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
      bytes += sizeOf(next.item);
      if (batch.length > 0 && (batch.length >= MAX_ITEMS || bytes > MAX_BYTES)) break;
      queue.shift();
      batch.push(next);
    }
    return batch;
  }

  /** An item that is late before its commit began is not committed: it is redelivered. Nor does it stay in memory. */
  function forgetAnswered(): void {
    while (unanswered.size > 0 && isOver(unanswered.peek())) unanswered.shift();
    while (queue.size > 0 && queue.peek()?.resolve === undefined) queue.shift();
  }

  /** One timer for all items, set for the oldest without a result. */
  function watch(): void {
    forgetAnswered();
    const oldest = unanswered.peek();
    if (oldest === undefined) {
      timer?.clear();
      timer = undefined;
    } else if (timer === undefined && deadline !== undefined) {
      timer = deadline.clock.setTimer(
        () => expire(deadline),
        Math.max(oldest.addedAt + deadline.ms - deadline.clock.now(), 0),
      );
    }
  }

  function expire({ ms, clock, late }: NonNullable<typeof deadline>): void {
    timer = undefined;
    const now = clock.now();
    for (const waiting of unanswered) {
      const age = now - waiting.addedAt;
      if (age >= 0 && age < ms) break; // below 0 the wall clock went back: its age is unknown, a redelivery is harmless
      waiting.isLate = true;
      if (late !== undefined && waiting.resolve !== undefined) answer(waiting, late());
    }
    watch();
    goOn();
  }

  function put(item: T, resolve: (result: R) => void): void {
    const waiting = { item, addedAt: deadline?.clock.now() ?? 0, resolve, isLate: false };
    queue.push(waiting);
    if (deadline !== undefined) unanswered.push(waiting);
    if (timer === undefined) watch();
    if (running) return;
    running = true;
    schedule(begin);
  }

  return {
    put,
    add: (item) => new Promise((resolve) => put(item, resolve)),
    async drained() {
      if (running || commits > 0) await new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}

/** Nobody waits for its commit. */
function isOver(waiting: Pick<Waiting<unknown, never>, "isLate" | "resolve"> | undefined): boolean {
  return waiting === undefined || waiting.isLate || waiting.resolve === undefined;
}
