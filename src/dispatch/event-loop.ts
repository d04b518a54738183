/** Resolves when the event loop has had a turn for everything else. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** After so long in one turn of the event loop no further call begins, milliseconds. */
const TURN_MS = 10;

/** Asked before each call of a handler: whether the calls before it have taken all that one turn of the event loop gives them. */
export function createTurn(): { isOver(): boolean } {
  let endsAt: number | undefined;

  return {
    isOver() {
      if (endsAt !== undefined) return performance.now() >= endsAt;
      endsAt = performance.now() + TURN_MS;
      setImmediate(() => (endsAt = undefined));
      return false;
    },
  };
}
