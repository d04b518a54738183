import { EXIT, type Io, type StopSignal } from "./command.ts";

/** Listens for the signals that ask the program to end; a second one ends it at once. */
export function listenForStop(
  { signals, exit }: Pick<Io, "signals" | "exit">,
  names: readonly StopSignal[] = ["SIGTERM", "SIGINT"],
) {
  const { promise: asked, resolve } = Promise.withResolvers<StopSignal>();
  let count = 0;
  const listener = (signal: StopSignal): void => {
    resolve(signal);
    count += 1;
    if (count > 1) exit(EXIT.failed);
  };
  for (const name of names) signals.on(name, listener);
  return {
    /** Resolves at the first signal. */
    asked,
    /** Stops listening. */
    remove(): void {
      for (const name of names) signals.off(name, listener);
    },
  };
}

/** Runs something that the first signal stops; a second one ends the process. */
export async function stoppable<T>(
  io: Pick<Io, "signals" | "exit">,
  stop: () => unknown,
  run: () => Promise<T>,
): Promise<T> {
  const listener = listenForStop(io);
  void listener.asked.then(stop);
  try {
    return await run();
  } finally {
    listener.remove();
  }
}
