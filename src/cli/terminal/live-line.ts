import { styleText } from "node:util";
import type { Terminal } from "../command.ts";
import { cut } from "./table.ts";

/** A line at the bottom of a terminal, overwritten in place. */
export interface LiveLine {
  /** Calls something that writes whole lines: they stand above this one. */
  above(write: () => void): void;
  remove(): void;
}

/** How often it is written. What ends before shows none. */
const REFRESH_MS = 200;
/** Where a terminal does not know its width, or says 0. */
const DEFAULT_COLUMNS = 80;
const CLEAR_TO_END = "\u001B[K";

/** Shows a line on a terminal, and nothing elsewhere. */
export function showLiveLine(stream: Terminal, line: () => string): LiveLine {
  if (stream.isTTY !== true) return { above: (write) => write(), remove() {} };
  let isShown = false;
  const show = (): void => {
    isShown = true;
    // A line that wraps could not be overwritten.
    const text = cut(line(), (stream.columns || DEFAULT_COLUMNS) - 1);
    stream.write(`\r${styleText("dim", text, { stream })}${CLEAR_TO_END}`);
  };
  const hide = (): void => void (isShown && stream.write(`\r${CLEAR_TO_END}`));
  const timer = setInterval(show, REFRESH_MS);
  return {
    above(write) {
      hide();
      write();
      if (isShown) show();
    },
    remove() {
      clearInterval(timer);
      hide();
    },
  };
}
