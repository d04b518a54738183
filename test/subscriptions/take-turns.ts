import { deferred } from "../support/event-loop.ts";

/** Whose turn it is, and for how many steps. */
export type Turn = readonly [process: number, steps: number];

/**
 * Runs processes side by side, of which one moves at a time: a process that waits for its turn moves on to its next wait, or to its end.
 *
 * @param turns from the first on; when they are over, the first process that has not ended moves
 */
export async function takeTurns(
  turns: readonly Turn[],
  processes: readonly ((wait: () => Promise<void>) => Promise<void>)[],
): Promise<void> {
  const all = processes.map((run) => {
    const state = { go: () => {}, rested: deferred(), hasEnded: false };
    const wait = (): Promise<void> =>
      new Promise((resolve) => {
        state.go = resolve;
        state.rested.resolve();
      });
    const ended = wait()
      .then(() => run(wait))
      .finally(() => {
        state.hasEnded = true;
        state.rested.resolve();
      });
    return { state, ended };
  });

  async function move(nth: number): Promise<void> {
    const state = all[nth % all.length]?.state;
    if (state === undefined || state.hasEnded) return;
    state.rested = deferred();
    state.go();
    await state.rested.promise;
  }

  for (const [nth, steps] of turns) for (let step = 0; step < steps; step += 1) await move(nth);
  for (let nth = 0; nth < all.length; nth += 1) while (all[nth]?.state.hasEnded === false) await move(nth);
  await Promise.all(all.map(({ ended }) => ended));
}
