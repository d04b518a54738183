import type { Writable } from "node:stream";

/** Things as lines of JSON on a stream. */
export interface JsonLines {
  /** Resolves with true when the stream has the line, with false when it takes none any more. */
  write(thing: object): Promise<boolean>;
  /** Resolves when the stream has broken: with code `EPIPE` when its reader left. */
  readonly broken: Promise<NodeJS.ErrnoException>;
}

/** Never throws for the stream: whoever writes does not know what to do about it, whoever started it does. */
export function createJsonLines(stream: Writable): JsonLines {
  return {
    write: (thing) =>
      new Promise((resolve) => void stream.write(`${JSON.stringify(thing)}\n`, (error) => resolve(!error))),
    broken: new Promise((resolve) => stream.on("error", resolve)),
  };
}
