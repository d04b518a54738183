import { readFile, readlink, realpath, stat } from "node:fs/promises";
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

/**
 * Every process has to find the same lock and the same log beside a file: it has one name, in one folder.
 * @param file its real path
 * @throws StorageError `hard-linked`, `file-mounted`
 */
export async function assertSinglePath(file: string): Promise<void> {
  const names = await namesOf(file);
  if (names !== undefined && names > 1)
    throw new StorageError(
      "hard-linked",
      `${file} has ${names} names (hard links): processes that open it by different ones would not know of each other.`,
      {
        fix: "Find the other names with `find -samefile` and remove them. Or stop all processes and give the inbox a copy of its own: `cp -p inbox.db new.db && mv new.db inbox.db`. For backups use VACUUM INTO.",
      },
    );
  if (isMountPoint(file, await mounts()))
    throw new StorageError(
      "file-mounted",
      `${file} is itself a mount point: each container would have a lock and a write-ahead log of its own.`,
      { fix: "Mount its folder instead of the file." },
    );
}

/** How many names a file has; undefined where there is none, or it cannot be seen. */
export async function namesOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() === true ? found.nlink : undefined;
}

/**
 * @param file its real path
 * @param mountinfo what Linux says in /proc/self/mountinfo
 * @see https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
 */
export function isMountPoint(file: string, mountinfo: string): boolean {
  return mountinfo.split("\n").some((line) => {
    const [, , , , point = ""] = line.split(" ");
    return point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8))) === file;
  });
}

/** Elsewhere a file cannot be one. */
function mounts(): Promise<string> {
  return readFile("/proc/self/mountinfo", "utf8").catch(() => "");
}
