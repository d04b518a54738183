/** Something that happened in the app. */
export interface Entry {
  readonly what: string;
  readonly text: string;
}

/** What happens in the app, in order, for whoever tells it. */
export interface Journal {
  add(what: string, text: string): void;
  /** The next entry, which may be still to come. */
  next(): Promise<Entry>;
}

/** Longer than any part of the tour takes, on any machine: the longest wait is that for a second retry, at most 2 s. */
const PATIENCE_MS = 60_000;

export function createJournal(): Journal {
  const entries: Entry[] = [];
  let arrived: (() => void) | undefined;
  return {
    add(what, text) {
      entries.push({ what, text });
      arrived?.();
    },
    async next() {
      if (entries.length === 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, PATIENCE_MS);
          arrived = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      return entries.shift() ?? { what: "nothing", text: `in ${PATIENCE_MS / 1000} s` };
    },
  };
}
