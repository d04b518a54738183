/** Lets changes in so that the ledger hears of each in the order in which they hold. */
export interface InTurn {
  /** Beside its like: these hold in the order of their answers. */
  together<T>(run: () => Promise<T>): Promise<T>;
  /** Beside nothing else: its answer comes later than what others store after it. */
  alone<T>(run: () => Promise<T>): Promise<T>;
  /** What is under way has been told: a claim may find jobs of it before it is answered. */
  told(): Promise<unknown>;
}

/** For an inbox that answers on several connections. */
export function inTurn(): InTurn {
  const underWay = new Set<Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();

  function track<T>(running: Promise<T>): Promise<T> {
    const ended: Promise<unknown> = running.then(
      () => underWay.delete(ended),
      () => underWay.delete(ended),
    );
    underWay.add(ended);
    return running;
  }

  return {
    together: (run) => track(last.then(run)),
    alone(run) {
      const running = track(Promise.all(underWay).then(run));
      last = running.catch(() => {});
      return running;
    },
    told: () => Promise.all(underWay),
  };
}

/** For one that does all in one place. */
export const atOnce: InTurn = { together: (run) => run(), alone: (run) => run(), told: async () => {} };
