/** Lets some in at a time, in the order in which they came. */
export interface Gate {
  /** Resolves with the function that leaves; rejects if the signal aborts before it is in. */
  enter(signal: AbortSignal | undefined): Promise<() => void>;
  /** Rejects whoever waits, and whoever comes until one leaves. */
  refuse(error: Error): void;
}

/** @param emptied nobody is in it, and nobody waits */
export function createGate(places: number, emptied: () => void = () => {}): Gate {
  /** In the order of `enter`: a call lets one in, or with an error refuses it. */
  const waiting = new Set<(error?: unknown) => void>();
  let inside = 0;
  let refusal: Error | undefined;

  function leave(): void {
    inside -= 1;
    refusal = undefined;
    const [next] = waiting;
    next?.();
    if (inside === 0) emptied();
  }

  return {
    enter: (signal) =>
      new Promise((resolve, reject) => {
        const aborted = (): void => end(signal?.reason);
        const end = (error?: unknown): void => {
          waiting.delete(end);
          signal?.removeEventListener("abort", aborted);
          if (error !== undefined) return reject(error);
          inside += 1;
          resolve(leave);
        };
        if (signal?.aborted === true) aborted();
        else if (refusal !== undefined) end(refusal);
        else if (inside < places) end();
        else {
          waiting.add(end);
          signal?.addEventListener("abort", aborted);
        }
      }),
    refuse(error) {
      refusal = error;
      for (const end of waiting) end(error);
    },
  };
}
