/** How the program ended, for scripts. The help lists them. `queued`: it was not done yet, and will be: not to be asked for again. */
export const EXIT = { done: 0, failed: 1, usage: 2, queued: 3 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
