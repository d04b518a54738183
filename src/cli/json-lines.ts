import type { Writable } from "node:stream";

/** Things as lines of JSON on a stream. */
export interface JsonLines {
  /** Resolves when the stream has the line, or takes none any more. */
  write(thing: object): Promise<void>;
  /** Resolves when the stream has broken: with code `EPIPE` when its reader left. */
  readonly broken: Promise<NodeJS.ErrnoException>;
}

/** Never throws for the stream: whoever writes does not know what to do about it, whoever started it does. */
export function createJsonLines(stream: Writable): JsonLines {
  return {
    write: (thing) => new Promise((resolve) => void stream.write(`${JSON.stringify(thing)}\n`, () => resolve())),
    broken: new Promise((resolve) => stream.on("error", resolve)),
  };
}
