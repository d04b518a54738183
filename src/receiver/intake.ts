import { BodyError } from "../errors.ts";

/** Bodies being read, all requests together. */
export interface Intake {
  /** Takes room for bytes that arrived. @throws BodyError `intake-full` */
  take(bytes: number): void;
  /** Gives it back. */
  give(bytes: number): void;
}

export function createIntake(maxInFlightBytes: number): Intake {
  let inFlight = 0;
  return {
    take(bytes) {
      if (inFlight + bytes > maxInFlightBytes) {
        throw new BodyError("intake-full", `Bodies being read hold ${inFlight} of ${maxInFlightBytes} bytes.`, {
          fix: "Raise `maxInFlightBytes`, or look for a client that floods.",
        });
      }
      inFlight += bytes;
    },
    give(bytes) {
      inFlight -= bytes;
    },
  };
}
