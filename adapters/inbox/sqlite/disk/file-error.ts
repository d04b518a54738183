/** What went wrong with the file, as it crosses from the commit thread: the other side makes a StorageError of it. */
export class FileError extends Error {
  override name = "FileError";
  readonly code: string;
  readonly fix: string | undefined;

  constructor(code: string, message: string, options: { readonly fix?: string; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.fix = options.fix;
  }
}

/** What is to be done about a file that this process may not write. */
export const PERMIT: string =
  "Give the user of this process the right to write the file, those of the same name beside it, and their folder.";
