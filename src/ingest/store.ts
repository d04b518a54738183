import type { Clock } from "../clock.ts";
import { isHooklineError, StorageError } from "../errors.ts";
import type { InboxWatch } from "../inbox/standstill-watch.ts";
import { createBatcher, type Batcher } from "../inbox/batcher.ts";
import type { Delivery, NewEvent, StoreResult } from "../inbox/port/delivery.ts";
import type { WritingInbox } from "../inbox/port/inbox.ts";
import type { Instruments } from "../observe/instruments.ts";
import { isError } from "../thrown.ts";
import { withTimeout } from "../timeout.ts";
import type { InFlightBytes } from "./body-limits.ts";
import { isRefusalCode, Refused, type RefusalCode } from "./refusals.ts";
import type { Admitted } from "./types.ts";

/** Time for storing before 503, milliseconds. */
export const DEFAULT_STORE_TIMEOUT_MS = 5_000;

/** Stores deliveries; those of one turn of the event loop share a commit. */
export interface DeliveryStore {
  /** Row 13 of the table of answers: resolves when the delivery is durable, or with the reason why that is not certain. */
  store(admitted: Admitted): Promise<StoreResult | Refused>;
  /** Resolves when every `store` so far has resolved. */
  drained(): Promise<void>;
}

export interface DeliveryStoreOptions {
  readonly inbox: WritingInbox;
  /** Sees whether the inbox moves. */
  readonly watch: Pick<InboxWatch, "call" | "moved" | "failed">;
  /** Counts what waits for a slow disk, too. */
  readonly inFlightBytes: InFlightBytes;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The events of the deliveries of one commit, where this process works; undefined for a delivery that is expanded later. */
  readonly expand: (batch: readonly Admitted[]) => readonly (readonly NewEvent[] | undefined)[];
  /** Called with the events of each delivery before the commit, which waits for the promise, if there is one. */
  readonly expanding: (events: readonly NewEvent[], delivery: Delivery) => Promise<void> | undefined;
  /** Called when a delivery is durable, before its answer. */
  readonly stored: (admitted: Admitted, stored: StoreResult, events: readonly NewEvent[] | undefined) => void;
  /** Called after each commit. */
  readonly committed: () => void;
  /** No request may wait for I/O that another request began. */
  readonly isolateRequests: boolean;
  readonly instruments: Instruments;
}

export function createDeliveryStore(options: DeliveryStoreOptions): DeliveryStore {
  const { inbox, watch, inFlightBytes, timeoutMs, clock, expand, expanding, stored, committed, isolateRequests } =
    options;

  async function commit(batch: readonly Admitted[]): Promise<readonly (StoreResult | Refused)[]> {
    const events = expand(batch);
    const noted = batch.flatMap(({ delivery }, index) => expanding(events[index] ?? [], delivery) ?? []);
    if (noted.length > 0) await Promise.all(noted);
    try {
      return await storeBatch(batch, events);
    } catch (error) {
      if (batch.length === 1 || isHooklineError(error, "inbox-hung")) throw error;
      return storeSingly(batch, events, error);
    }
  }

  async function storeBatch(batch: readonly Admitted[], events: Events): Promise<readonly (StoreResult | Refused)[]> {
    const given = batch.map(({ delivery, idInQueue }, index) => ({ delivery, events: events[index], idInQueue }));
    const toAnswers = (results: readonly StoreOutcome[]): readonly (StoreResult | Refused)[] => {
      watch.moved("store", results.some(isStored));
      return answersTo(batch, events, results);
    };
    try {
      // What is stored late was refused, and is handled all the same.
      return toAnswers(
        await (isolateRequests
          ? inbox.store(given)
          : watch.call("store", "store", () => inbox.store(given), toAnswers)),
      );
    } catch (error) {
      // An answer is an answer: the service brings the deliveries again. After none it is not known whether the next call gets one.
      if (isHooklineError(error, "inbox-hung")) watch.failed("store", error);
      else watch.moved("store");
      committed(); // it may have stored all the same
      throw error;
    }
  }

  /**
   * Where the inbox rejects a batch as a whole, one delivery may be the cause, and a queue would bring it again with the same others. What was
   * stored all the same is stored twice, as after any redelivery.
   * @throws the error of the batch, where the first deliveries fail by themselves too: it is the storage that fails
   */
  async function storeSingly(
    batch: readonly Admitted[],
    events: Events,
    error: unknown,
  ): Promise<readonly (StoreResult | Refused)[]> {
    const answers: (StoreResult | Refused)[] = [];
    for (const [index, admitted] of batch.entries()) {
      if (index === MOST_AT_FIRST && answers.every((answer) => answer instanceof Refused)) throw error;
      const own = storeBatch([admitted], [events[index]]);
      answers.push(...(await own.catch((thrown: unknown) => [toRefused(thrown)])));
    }
    return answers;
  }

  function answersTo(
    batch: readonly Admitted[],
    events: Events,
    results: readonly StoreOutcome[],
  ): readonly (StoreResult | Refused)[] {
    const answers = batch.map((admitted, index) => {
      const result = results[index];
      if (!isStored(result)) return toRefused(result);
      if (result.isRepeated === undefined) stored(admitted, result, events[index]);
      return result;
    });
    committed();
    return answers;
  }

  const deadline: Deadline = { ms: timeoutMs, clock, late: () => new Refused("storage-late") };
  const batcher = isolateRequests
    ? createUnbatched(commit, deadline)
    : createBatcher({ commit, sizeOf: ({ delivery }) => delivery.body.byteLength, failed: toRefused, deadline });
  return {
    store(admitted) {
      const { byteLength } = admitted.delivery.body;
      try {
        inFlightBytes.reserve(byteLength);
      } catch (error) {
        return Promise.resolve(new Refused("intake-full", error));
      }
      const { meter } = options.instruments;
      const startedAt = performance.now();
      return new Promise((resolve) => {
        batcher.put(admitted, (result) => {
          if (!(result instanceof Refused)) meter?.stored(performance.now() - startedAt);
          inFlightBytes.release(byteLength);
          resolve(result);
        });
      });
    },
    drained: () => batcher.drained(),
  };
}

type StoreOutcome = StoreResult | StorageError | undefined;

/** Of each delivery of a batch; undefined: it is stored unexpanded. */
type Events = readonly (readonly NewEvent[] | undefined)[];

/** Tried by themselves before the storage is taken for the cause. */
const MOST_AT_FIRST = 2;

/** The refusal for an error of the inbox. */
export function toRefused(error: unknown): Refused {
  return new Refused(codeOf(error), error);
}

interface Deadline {
  readonly ms: number;
  readonly clock: Clock;
  readonly late: () => Refused;
}

/**
 * A commit for each delivery. On Workers a request's I/O ends with the request, so a shared commit that hangs would hold up all
 * deliveries after it.
 */
function createUnbatched(
  commit: (batch: readonly Admitted[]) => Promise<readonly (StoreResult | Refused)[]>,
  { ms, clock, late }: Deadline,
): Pick<Batcher<Admitted, StoreResult | Refused>, "put" | "drained"> {
  const running = new Set<Promise<StoreResult | Refused>>();

  async function commitOne(admitted: Admitted): Promise<StoreResult | Refused> {
    try {
      const [result] = await commit([admitted]);
      return result as StoreResult | Refused;
    } catch (error) {
      return toRefused(error);
    }
  }

  return {
    put(admitted, then) {
      const result = commitOne(admitted);
      running.add(result);
      void result.then(() => running.delete(result));
      void withTimeout(ms, result, { clock, late: late() }).then(then);
    },
    async drained() {
      await Promise.all(running);
    },
  };
}

/** Anything else is perhaps not stored, such as an error of another copy of this package: no 200 for that. */
function isStored(result: StoreOutcome): result is StoreResult {
  return typeof result === "object" && result !== null && !isError(result) && typeof result.id === "string";
}

function codeOf(error: unknown): RefusalCode {
  try {
    if (error instanceof StorageError && isRefusalCode(error.code)) return error.code;
  } catch {
    // A user's inbox may throw an object whose every read throws.
  }
  return "storage-failed";
}
