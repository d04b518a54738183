/** Those who wait for a moment of rest, each for its own kind. */
export interface IdleWaiters {
  /** Resolves when it holds: now, or when a later `tell` finds that it does. */
  when(holds: () => boolean): Promise<void>;
  /** Something ended. */
  tell(): void;
}

export function createIdleWaiters(): IdleWaiters {
  let waiting: { readonly holds: () => boolean; readonly resolve: () => void }[] = [];

  return {
    when: async (holds) => {
      if (!holds()) await new Promise<void>((resolve) => waiting.push({ holds, resolve }));
    },
    tell() {
      const over = waiting.filter(({ holds }) => holds());
      if (over.length === 0) return;
      waiting = waiting.filter((one) => !over.includes(one));
      for (const { resolve } of over) resolve();
    },
  };
}
