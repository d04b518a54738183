import { createBatcher } from "../inbox/batcher.ts";
import type { StoreResult, NewEvent } from "../inbox/port/delivery.ts";
import type { WritingInbox } from "../inbox/port/inbox.ts";
import { StorageError } from "../errors.ts";
import { isError } from "../thrown.ts";
import type { Clock } from "../clock.ts";
import type { InFlightBytes } from "./in-flight-bytes.ts";
import { createOneByOne } from "./unbatched.ts";
import { REFUSALS, type RefusalCode } from "./responses.ts";
import { Refused, type Admitted } from "./steps.ts";

/** StorageKind deliveries, those of one turn of the loop in one commit. */
export interface DeliveryStore {
  /** Row 13 of the table of answers: resolves when it is durable, or with why that is not certain. */
  store(admitted: Admitted): Promise<StoreResult | Refused>;
  /** Resolves when all that came has its answer. */
  drained(): Promise<void>;
}

export interface DeliveryStoreOptions {
  readonly inbox: WritingInbox;
  /** Where the disk is slow, what waits for it is bounded as well. */
  readonly intake: InFlightBytes;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /**
   * The events of the deliveries of one commit, where this process works: undefined for those that are to be expanded later.
   */
  readonly expand: (batch: readonly Admitted[]) => readonly (readonly NewEvent[] | undefined)[];
  /** Durable, and not answered yet. */
  readonly stored: (admitted: Admitted, stored: StoreResult, events: readonly NewEvent[] | undefined) => void;
  /** A commit has ended. */
  readonly committed: () => void;
  /** A request may not wait for what another one began. */
  readonly apart: boolean;
}

export function createDeliveryStore(options: DeliveryStoreOptions): DeliveryStore {
  const { inbox, intake, timeoutMs, clock, expand, stored, committed, apart } = options;
  const batcher = (apart ? createOneByOne : createBatcher)<Admitted, StoreResult | Refused>({
    commit: async (batch) => {
      const events = expand(batch);
      const results = await inbox.store(batch.map(({ delivery }, index) => ({ delivery, events: events[index] })));
      const answers = batch.map((admitted, index) => {
        const result = results[index];
        if (!isStored(result)) return toRefused(result);
        stored(admitted, result, events[index]);
        return result;
      });
      committed();
      return answers;
    },
    sizeOf: ({ delivery }) => delivery.body.byteLength,
    failed: toRefused,
    deadline: { ms: timeoutMs, clock, late: () => new Refused("storage-late") },
  });
  return {
    async store(admitted) {
      const { byteLength } = admitted.delivery.body;
      try {
        intake.take(byteLength);
      } catch (error) {
        return new Refused("intake-full", error);
      }
      const result = await batcher.add(admitted);
      intake.give(byteLength);
      return result;
    },
    drained: () => batcher.drained(),
  };
}

/** Anything else is not certain to be stored, such as an error of another copy of this package: no 200 for that. */
function isStored(result: StoreResult | StorageError | undefined): result is StoreResult {
  return typeof result === "object" && result !== null && !isError(result) && typeof result.id === "string";
}

/** Why something could not be stored. */
export function toRefused(error: unknown): Refused {
  return new Refused(codeOf(error) ?? "storage-failed", error);
}

function codeOf(error: unknown): RefusalCode | undefined {
  try {
    return error instanceof StorageError && Object.hasOwn(REFUSALS, error.code)
      ? (error.code as RefusalCode)
      : undefined;
  } catch {
    return undefined; // an inbox of somebody's own may throw what cannot be read
  }
}
