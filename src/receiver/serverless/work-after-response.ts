import type { Receiver } from "../receiver-types.ts";
import { insideOf } from "../internals.ts";

/**
 * What a function mount hands to its platform's `waitUntil`: handles what is waiting, as long as the platform lets it. Speed, not
 * safety: what is cut off stays in the inbox. Undefined where there is nothing to do: an inbox that only takes, or no handlers.
 * Never rejects.
 */
export function workAfterResponse(receiver: Receiver): Promise<void> | undefined {
  const inside = insideOf(receiver);
  return inside?.works === true && inside.handles() ? work(receiver) : undefined;
}

async function work(receiver: Receiver): Promise<void> {
  try {
    await receiver.start();
    await receiver.idle();
  } catch {
    // The delivery is stored; what keeps this process from working is in the log, and meets the next request again.
  }
}
