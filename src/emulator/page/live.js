/** @typedef {import("./api.js").Attempt} Attempt */

/**
 * Hears of each attempt as it ends. It connects when it is told to, because browsers give up differently.
 *
 * @param {{ onOpen: () => void, onAttempt: (number: number, attempt: Attempt) => void, onLost: () => void }} listeners
 */
export function createLive({ onOpen, onAttempt, onLost }) {
  /** @type {EventSource | undefined} */
  let source;

  return {
    /** Does nothing while it is connected. */
    connect() {
      if (source !== undefined) return;
      const own = new EventSource("/emulator/live");
      source = own;
      own.addEventListener("open", (event) => {
        // The emulator's own event: from now on no attempt is missed. The browser's event of this name only says that it answered.
        if (event instanceof MessageEvent) onOpen();
      });
      own.addEventListener("attempt", ({ lastEventId, data }) => onAttempt(Number(lastEventId), JSON.parse(data)));
      own.addEventListener("error", () => {
        own.close();
        source = undefined;
        onLost();
      });
    },
  };
}
