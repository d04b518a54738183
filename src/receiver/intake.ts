import { BodyError } from "../errors.ts";

/** Bodies being read, and those that wait to be kept, all requests together. */
export interface Intake {
  /** Takes room for bytes that arrived. @throws BodyError `intake-full` */
  take(bytes: number): void;
  /** Gives it back. */
  give(bytes: number): void;
  /** There is no room left for a delivery of ordinary size. */
  readonly isFull: boolean;
}

/** No more than this is an ordinary delivery, bytes; and of a small limit its 64th part. */
const ORDINARY_BYTES = 16 * 1024;

export function createIntake(maxInFlightBytes: number): Intake {
  const ordinary = Math.max(Math.min(ORDINARY_BYTES, maxInFlightBytes / 64), 1);
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
