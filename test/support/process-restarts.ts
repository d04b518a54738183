import { memoryInbox, type ReceiverOptions } from "hookline";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { fakeClock, type FakeClock } from "./fake-clock.ts";
import { mortal } from "./crashable-inbox.ts";
import { emails, heldHandler, rig, type Rig } from "./rig.ts";

type LifeOptions = Omit<Partial<ReceiverOptions<"memory">>, "inbox" | "clock" | "log">;

/** Processes that work on one inbox, one after another: each dies when the next begins. */
export interface Lives {
  readonly clock: FakeClock;
  readonly store: WorkingInbox<"memory">;
  /** @param register before it starts. @param own options of this process alone */
  next(register: (life: Rig) => unknown, own?: LifeOptions): Promise<Rig>;
}

export function lives(options: LifeOptions = {}): Lives {
  const store = memoryInbox();
  const clock = fakeClock();
  let die = (): void => {};
  return {
    clock,
    store: store as WorkingInbox<"memory">,
    async next(register, own = {}) {
      die();
      const mortalInbox = mortal(store);
      die = mortalInbox.die;
      const life = rig({ ...options, ...own, inbox: mortalInbox.inbox, clock });
      await register(life);
      await life.receiver.start();
      await life.pass();
      return life;
    },
  };
}

/** Dies so often over jobs of these records, all of which run at once. */
export async function dieOver(ids: readonly string[], deaths: number, process = lives()): Promise<Lives> {
  const concurrency = Math.max(ids.length, 10);
  for (let death = 0; death < deaths; death += 1) {
    const life = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler), { concurrency });
    if (death === 0) await life.send(emails(...ids));
    await life.pass();
  }
  return process;
}
