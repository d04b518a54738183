import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** As many as the operating system follows. */
const MOST_LINKS = 40;

/**
 * Where a file is, or is to be made, behind all links: its lock and its log lie there, and every process has to find the same ones.
 * Where that cannot be known, opening it says why.
 */
export async function realPathOf(file: string, links: number = MOST_LINKS): Promise<string> {
  const found = await unlessFailed(realpath(file));
  if (found !== undefined) return found;
  const folder = (await unlessFailed(realpath(dirname(file)))) ?? resolve(dirname(file));
  // A link may be there before the file that it names.
  const target = links > 0 ? await unlessFailed(readlink(file)) : undefined;
  return target === undefined ? join(folder, basename(file)) : realPathOf(resolve(folder, target), links - 1);
}

function unlessFailed<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch(() => undefined);
}
