import type { Writable } from "node:stream";

/** Prints as fast as its reader takes it. */
export interface Printer {
  /** Rejects with the stream's error when it takes no more: with code `EPIPE` when its reader left. */
  print(lines: readonly string[]): Promise<void>;
}

export function createPrinter(stream: Writable): Printer {
  return {
    print: (lines) =>
      new Promise((resolve, reject) => {
        const text = lines.map((line) => `${line}\n`).join("");
        stream.write(text, (error) => (error ? reject(new ReaderError(error)) : resolve()));
      }),
  };
}

/** The stream takes no more. */
export class ReaderError extends Error {
  override readonly name = "ReaderError";
  override readonly cause: NodeJS.ErrnoException;

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause });
    this.cause = cause;
  }
}
