import type { Io, StopSignal } from "./command.ts";
import { EXIT } from "./exit-codes.ts";

/** Who wants the program to end. */
export interface Stopping {
  /** Resolves at the first signal; a second one ends the process at once. */
  readonly asked: Promise<StopSignal>;
  /** Leaves the signals to others again. */
  forget(): void;
}

/** Listens for the signals from here on. */
export function listenForStop({ signals, exit }: Pick<Io, "signals" | "exit">): Stopping {
  const heard: StopSignal[] = [];
  let resolve: (signal: StopSignal) => void;
  const asked = new Promise<StopSignal>((resolved) => (resolve = resolved));
  const listener = (signal: StopSignal): void => {
    resolve(signal);
    if (heard.push(signal) > 1) exit(EXIT.failed);
  };
  signals.on("SIGTERM", listener);
  signals.on("SIGINT", listener);
  return {
    asked,
    forget() {
      signals.off("SIGTERM", listener);
      signals.off("SIGINT", listener);
    },
  };
}
