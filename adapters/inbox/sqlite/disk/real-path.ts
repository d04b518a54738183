import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { StorageError } from "../../../../src/adapter.ts";

/** As many as the operating system follows. */
const MOST_LINKS = 40;

/**
 * Where a file is, or is to be made, behind all links: its lock and its log lie there, and every process has to find the same ones.
 * Where that cannot be known, opening it says why.
 * @throws StorageError `link-dangling` where a link leads to a folder that is not there
 */
export async function realPathOf(file: string, links: number = MOST_LINKS): Promise<string> {
  const found = await unlessFailed(realpath(file));
  if (found !== undefined) return found;
  const folder = (await unlessFailed(realpath(dirname(file)))) ?? resolve(dirname(file));
  // A link may be there before the file that it names.
  const target = links > 0 ? await unlessFailed(readlink(file)) : undefined;
  if (target === undefined) return join(folder, basename(file));
  const path = resolve(folder, target);
  if ((await unlessFailed(realpath(dirname(path)))) === undefined)
    throw new StorageError(
      "link-dangling",
      `${file} is a link to ${target}, and there is no folder ${dirname(path)}.`,
      {
        fix: "Make that folder, or point the link to one that is there; the inbox makes its files, and no folders.",
      },
    );
  return realPathOf(path, links - 1);
}

function unlessFailed<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch(() => undefined);
}
