import type { Terminal } from "../command.ts";

/** How often it is written, milliseconds. What ends sooner shows none. */
const EVERY_MS = 200;

/** Where a terminal does not know its width, or says 0. */
const USUAL_COLUMNS = 80;

const CLEAR_TO_END = "\u001B[K";

/**
 * Shows how far a run is: one line on a terminal, written over in place, and nothing elsewhere.
 *
 * @returns takes the line away
 */
export function showProgress(stream: Terminal, line: () => string): () => void {
  if (stream.isTTY !== true) return () => {};
  let shown = false;
  const timer = setInterval(() => {
    shown = true;
    // A line that wraps could not be written over.
    stream.write(`\r${line().slice(0, (stream.columns || USUAL_COLUMNS) - 1)}${CLEAR_TO_END}`);
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    if (shown) stream.write(`\r${CLEAR_TO_END}`);
  };
}
