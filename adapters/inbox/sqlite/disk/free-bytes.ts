import type { StatsFs } from "node:fs";

/** How much of a disk is there for this user, by what statfs says. */
export function freeBytes({ bavail, bsize }: Pick<StatsFs, "bavail" | "bsize">): number {
  return bavail * bsize;
}
