import { BodyError } from "../errors.ts";
import { ordinaryBytes } from "../ordinary-bytes.ts";

/** Bodies being read, and those that wait to be stored, all requests together. */
export interface InFlightBytes {
  /** Takes room for bytes that arrived. @throws BodyError `intake-full` */
  take(bytes: number): void;
  /** Gives it back. */
  give(bytes: number): void;
  /** There is no room left for a delivery of ordinary size. */
  readonly isFull: boolean;
}

export function createInFlightBytes(maxInFlightBytes: number): InFlightBytes {
  const ordinary = ordinaryBytes(maxInFlightBytes);
  let inFlight = 0;
  return {
    get isFull() {
      return inFlight + ordinary > maxInFlightBytes;
    },
    take(bytes) {
      if (inFlight + bytes > maxInFlightBytes) {
        throw new BodyError("intake-full", `Bodies in flight hold ${inFlight} of ${maxInFlightBytes} bytes.`, {
          fix: "Raise `maxInFlightBytes`, or look for a client that floods or a disk that is slow.",
        });
      }
      inFlight += bytes;
    },
    give(bytes) {
      inFlight -= bytes;
    },
  };
}
