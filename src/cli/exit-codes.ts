/** How the program ended, for scripts. The help lists them. */
export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
