/** Whose jobs: of a consumer, of an account, or of both together. At least one is there. */
export interface Paused {
  readonly consumer?: string | undefined;
  readonly accountId?: number | undefined;
}

/** A pause: nothing of these jobs starts. Times in milliseconds since the epoch. */
export interface Pause extends Paused {
  readonly reason: string;
  readonly since: number;
  /** It ends by itself then. */
  readonly until?: number | undefined;
}

/**
 * Where pauses are stored, for all processes on the inbox. An inbox that has it follows the `rules` of a claim, and calls the worker's `wake`
 * when another process has changed them.
 */
export interface Pauses {
  /** Those that have not ended, at most 2 s old. Cheap: each claim asks. The same list while nothing has changed. */
  current(): readonly Pause[];
  /** Durable when it resolves, and in `current` here. One of the same jobs is replaced. */
  put(pause: Pause): Promise<void>;
  /** Durable when it resolves. @returns whether there was one of exactly these */
  remove(what: Paused): Promise<boolean>;
  /** Jobs that wait, of each of them. */
  waiting(all: readonly Paused[]): Promise<readonly number[]>;
}
