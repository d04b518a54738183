import type { Writable } from "node:stream";

/** Prints as fast as its reader takes it. */
export interface Printer {
  /** @throws ReaderError when the stream takes no more */
  print(lines: readonly string[]): Promise<void>;
}

export function createPrinter(stream: Writable): Printer {
  let begun = false;

  function write(lines: readonly string[]): Promise<void> {
    const text = lines.map((line) => `${line}\n`).join("");
    return new Promise((resolve, reject) => {
      stream.write(text, (error) => (error ? reject(new ReaderError(error, begun)) : resolve()));
    });
  }

  return {
    async print(lines) {
      // The first line goes alone: a reader that leaves behind it has seen enough, one that was gone before has seen nothing.
      const alone = begun ? 0 : 1;
      if (!begun) await write(lines.slice(0, alone));
      begun = true;
      if (lines.length > alone) await write(lines.slice(alone));
    },
  };
}

/** The stream takes no more. */
export class ReaderError extends Error {
  override readonly name = "ReaderError";
  override readonly cause: NodeJS.ErrnoException;
  /** It took something before. */
  readonly begun: boolean;

  constructor(cause: NodeJS.ErrnoException, begun: boolean) {
    super(cause.message, { cause });
    this.cause = cause;
    this.begun = begun;
  }
}
