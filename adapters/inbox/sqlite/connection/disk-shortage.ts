import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { StorageError } from "../../../../src/adapter.ts";
import { namesOf } from "./file-path.ts";

/** How a file stands on its disk: how much room there is, and whether it has other names. Checked when asked for, and no more than once a second. */
export interface FreeDisk {
  /** Looks now. Never rejects: where it cannot be known, there is room until a commit says otherwise. */
  look(): Promise<void>;
  /** As it was last seen. */
  bytes(): number | undefined;
  /** Hard links of the file, itself included; as it was last seen. */
  hardLinks(): number | undefined;
  /** Why nothing more is to be stored. */
  shortage(): StorageError | undefined;
}

export interface FreeDiskOptions {
  /** Where the file really is. */
  readonly file: () => string;
  /** With less of it nothing more is stored. */
  readonly leastBytes: number;
  readonly now: () => number;
  /** @default what statfs says is there for this user */
  readonly freeBytesIn?: ((folder: string) => Promise<number>) | undefined;
}

/** With less room on the disk deliveries get 503. */
export const DEFAULT_MIN_FREE_DISK_BYTES = 256 * 1024 * 1024;

const LOOK_EVERY_MS = 1_000;
/** What there must be more before anything is stored again: at the mark itself it would go on and off with each delivery. */
const MORE_TO_RECOVER = 1.1;

export function createFreeDisk({
  file,
  leastBytes,
  now,
  freeBytesIn = async (folder) => freeBytes(await statfs(folder)),
}: FreeDiskOptions): FreeDisk {
  let bytes: number | undefined;
  let names: number | undefined;
  let isLow = false;
  let lookedAt = -Infinity;
  let isLooking = false;

  async function look(): Promise<void> {
    isLooking = true;
    lookedAt = now();
    try {
      bytes = await freeBytesIn(dirname(file()));
      isLow = bytes < leastBytes * (isLow ? MORE_TO_RECOVER : 1);
      // On a disk that answered this ends, too: nothing waits for it.
      void namesOf(file()).then((found) => (names = found));
    } catch {
      [bytes, isLow] = [undefined, false];
    }
    isLooking = false;
  }

  /** Nobody waits for it: on a disk that hangs it never ends, and then it is not begun again. */
  function lookAgain(): void {
    if (!isLooking && Math.abs(now() - lookedAt) >= LOOK_EVERY_MS) void look();
  }

  return {
    look,
    bytes() {
      lookAgain();
      return bytes;
    },
    hardLinks() {
      lookAgain();
      return names;
    },
    shortage() {
      lookAgain();
      if (!isLow) return undefined;
      return new StorageError(
        "disk-low",
        `The disk has ${toMiB(bytes)} left, and ${toMiB(leastBytes)} are kept free for what is under way.`,
        {
          fix: "Make room on it, or lower `minFreeDiskBytes`: what is stored is still handled, and deliveries are taken again by themselves.",
        },
      );
    },
  };
}

function toMiB(bytes = 0): string {
  return `${Math.floor(bytes / 1024 / 1024)} MiB`;
}

/** How much of a disk is there for this user, by what statfs says. */
export function freeBytes({ bavail, bsize }: Pick<StatsFs, "bavail" | "bsize">): number {
  return bavail * bsize;
}
