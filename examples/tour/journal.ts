/** Something that happened in the app. */
export interface Entry {
  readonly what: string;
  readonly text: string;
}

/** Events in the app, in order. */
export interface Journal {
  add(what: string, text: string): void;
  /** Resolves with the next entry. */
  next(): Promise<Entry>;
}

/** A guard against a hang: the longest real wait is that for a second retry, at most 2 s. */
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
