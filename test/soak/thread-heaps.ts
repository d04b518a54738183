import { once } from "node:events";
import { BroadcastChannel, isMainThread } from "node:worker_threads";

// The soak loads this file with --import, so that it is in the commit thread, too: only a thread itself can collect its garbage.
const channel = new BroadcastChannel("hookline soak: heaps");
channel.unref();

if (!isMainThread)
  channel.addEventListener("message", () => {
    globalThis.gc?.();
    channel.postMessage(process.memoryUsage().heapUsed);
  });

/** Bytes in use of the thread that answers first, after a collection: the commit thread is the only one. */
export async function usedHeapOfThreads(): Promise<number> {
  const answer = once(channel, "message") as Promise<[{ readonly data: unknown }]>;
  channel.postMessage("collect");
  const [{ data }] = await answer;
  return Number(data);
}
