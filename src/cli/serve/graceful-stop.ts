import type { Receiver } from "../../index.ts";
import type { Listening } from "./listen.ts";

/** Longest wait for open requests, and then for their events. */
const LIMIT_MS = 5_000;

/**
 * Ends a receiver that has a server of its own, in the order that loses nothing: no more requests, no more events, close.
 *
 * @returns false when events were acknowledged and not handled in time: where they are stored on a disk, only those that were begun count
 */
export async function drain(server: Listening, receiver: Receiver): Promise<boolean> {
  await within(LIMIT_MS, server.close());
  server.cut();
  if (receiver.storage !== "memory") {
    // What waits is stored. The signals of handlers would come 5 s before the end: here each has all of the time.
    const { stuck } = await receiver.close({ drainMs: LIMIT_MS });
    return stuck === 0;
  }
  // Closing begins nothing new, and what waits in memory ends with the process.
  const handled = await within(LIMIT_MS, receiver.idle());
  await receiver.close({ drainMs: 0 });
  return handled;
}

async function within(ms: number, end: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  const inTime = await Promise.race([end.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}
