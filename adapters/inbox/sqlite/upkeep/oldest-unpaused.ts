import type { Pause } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../store/commit-queue.ts";

/** Milliseconds between two looks. */
const LOOK_MS = 5_000;

/** For health checks of a process that does not work: when the oldest open job was received that none of these pauses holds, as last seen. */
export function createOldestUnpaused(
  commits: CommitQueue,
  now: () => number,
): (pauses: readonly Pause[]) => number | undefined {
  let of: readonly Pause[] = [];
  let [after, lookedAt] = [0, -Infinity];
  let at: number | undefined;

  async function look(pauses: readonly Pause[]): Promise<void> {
    const found = await commits.add("oldestUnpaused", { pauses, after });
    if (of === pauses) ({ at, after } = found);
  }

  return (pauses) => {
    if (of !== pauses) [of, after, lookedAt] = [pauses, 0, -Infinity];
    if (Math.abs(now() - lookedAt) >= LOOK_MS) {
      lookedAt = now();
      look(pauses).catch(() => {}); // the next call returns what it finds
    }
    return at;
  };
}
