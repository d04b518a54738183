/** Runs one after another what shares a lane, and at once what has none. */
export type InLanes = (lane: string | undefined, run: () => Promise<void>) => Promise<void>;

/** The lanes of this process alone: for work that no inbox keeps. */
export function createInLanes(): InLanes {
  /** The end of each lane: the next one waits for it. */
  const ends = new Map<string, Promise<void>>();

  return async (lane, run) => {
    if (lane === undefined) return run();
    const turn = (ends.get(lane) ?? Promise.resolve()).then(run);
    // Its failure is its caller's: the next one runs all the same.
    const end = turn.catch(() => {});
    ends.set(lane, end);
    try {
      await turn;
    } finally {
      if (ends.get(lane) === end) ends.delete(lane);
    }
  };
}
