import { PQueue } from "../../support/p-queue.ts";

/** From here on: the tasks that one p-queue held at its fullest, those that wait and those that run. */
export function watchQueues(): () => number {
  let most = 0;
  const { add } = PQueue.prototype;
  PQueue.prototype.add = function watched(this: PQueue, ...given: Parameters<typeof add>) {
    const added = add.apply(this, given);
    most = Math.max(most, this.size + this.pending);
    return added;
  } as typeof add;
  return () => most;
}
