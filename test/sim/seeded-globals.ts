import PQueue from "p-queue";
import type { World } from "./world.ts";

/**
 * Runs something with the world's dice as the program's chance, and with an eye on p-queue: it never holds more than twice the
 * concurrency.
 */
export async function governed(world: World, run: () => Promise<void>): Promise<void> {
  const { random } = Math;
  const { add } = PQueue.prototype;
  const most = 2 * world.books.limits.concurrency;
  Math.random = world.dice.next;
  PQueue.prototype.add = function counted(this: PQueue, ...given: Parameters<typeof add>) {
    const added = add.apply(this, given);
    const held = this.size + this.pending;
    if (held > most) world.books.broken("p-queue holds at most twice the concurrency", { held, most });
    return added;
  } as typeof add;
  try {
    await run();
  } finally {
    Math.random = random;
    PQueue.prototype.add = add;
  }
}
