import { memoryInbox, type ReceiverOptions } from "hookline";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { crashableInbox } from "./crashable-inbox.ts";
import { fakeClock, type FakeClock } from "./fake-clock.ts";
import { emails, heldHandler, rig, type Rig } from "./rig.ts";

type RunOptions = Omit<Partial<ReceiverOptions<"memory">>, "inbox" | "clock" | "log">;

/** Processes that work on one inbox, one after another: each crashes when the next one starts. */
export interface ProcessRestarts {
  readonly clock: FakeClock;
  readonly store: WorkingInbox<"memory">;
  /** @param register called before `start()`. @param own options of this process alone */
  next(register: (run: Rig) => unknown, own?: RunOptions): Promise<Rig>;
}

export function processRestarts(options: RunOptions = {}): ProcessRestarts {
  const store = memoryInbox();
  const clock = fakeClock();
  let crash = (): void => {};
  return {
    clock,
    store: store as WorkingInbox<"memory">,
    async next(register, own = {}) {
      crash();
      const crashable = crashableInbox(store);
      crash = crashable.crash;
      const run = rig({ ...options, ...own, inbox: crashable.inbox, clock });
      await register(run);
      await run.receiver.start();
      await run.pass();
      return run;
    },
  };
}

/** Crashes so many processes while jobs of these records run, all at once. */
export async function crashWhileRunning(
  ids: readonly string[],
  deaths: number,
  process = processRestarts(),
): Promise<ProcessRestarts> {
  const concurrency = Math.max(ids.length, 10);
  for (let death = 0; death < deaths; death += 1) {
    const run = await process.next(({ receiver }) => receiver.on("email", heldHandler().handler), { concurrency });
    if (death === 0) await run.send(emails(...ids));
    await run.pass();
  }
  return process;
}
