import { StorageError, type InboxHost } from "../../../src/adapter.ts";
import type { Channel, ChannelEvents } from "./channel.ts";
import type { Counts } from "./counters.ts";
import type { ThreadOptions } from "./messages.ts";

/** The way to the file, over commit threads that may die: another takes the place of one that did. */
export interface Link {
  /** @throws StorageError with the thread's reason */
  open(host: InboxHost): Promise<void>;
  /** @throws StorageError while there is none */
  channel(): Channel;
  /** Why there is none; undefined while there is one. */
  failure(): StorageError | undefined;
  /** How much there is in the file. */
  counts(): Counts;
  /** What was committed is not known: the file is opened anew. */
  doubt(error: StorageError): void;
  /** Leaves at once; what is under way is given up. */
  abandon(): void;
  close(): Promise<void>;
}

export interface LinkOptions {
  readonly file: string;
  readonly openChannel: (options: ThreadOptions, events: ChannelEvents) => Promise<Channel>;
  /** Makes memory follow the file, on a new channel that nobody else has yet. */
  readonly resume: (channel: Channel) => Promise<void>;
  /** Another process has committed, or there is a channel again. */
  readonly changed: () => void;
}

/** Between two tries to open a file that failed. */
const AGAIN_MS = 1_000;

export function createLink({ file, openChannel, resume, changed }: LinkOptions): Link {
  const notOpen = new StorageError("storage-failed", "The inbox is not open.");
  let host: InboxHost | undefined;
  let current: Channel | undefined;
  let failure = notOpen;
  let counts: Counts = EMPTY;
  let timer: { clear(): void } | undefined;
  let reopening: Promise<void> | undefined;

  async function start({ name, dedupeWindowMs }: InboxHost): Promise<Channel> {
    let mine: Channel | undefined;
    mine = await openChannel(
      { file, name, dedupeWindowMs },
      {
        counted(given) {
          counts = given;
        },
        changed,
        ended(error) {
          if (mine !== undefined && mine === current) lose(error, 0);
        },
      },
    );
    return mine;
  }

  function lose(error: StorageError, waitMs: number): void {
    if (current === undefined) return;
    current = undefined;
    failure = error;
    host?.log.error(
      { err: error, code: "inbox-reopened" },
      "the inbox file is opened anew: deliveries get 503 meanwhile",
    );
    if (waitMs === 0) reopening = reopen();
    else later();
  }

  function later(): void {
    timer = host?.clock.setTimer(() => {
      reopening = reopen();
    }, AGAIN_MS);
  }

  async function reopen(): Promise<void> {
    const given = host;
    if (given === undefined) return;
    let next: Channel | undefined;
    try {
      next = await start(given);
      await resume(next);
    } catch (error) {
      next?.abandon();
      failure =
        error instanceof StorageError ? error : new StorageError("storage-failed", String(error), { cause: error });
      if (host === given) later();
      return;
    }
    if (host !== given) return next.close();
    current = next;
    changed();
  }

  return {
    async open(given) {
      if (current !== undefined || host !== undefined) return;
      current = await start(given);
      host = given;
    },
    channel() {
      if (current === undefined) throw failure;
      return current;
    },
    failure: () => (current === undefined ? failure : undefined),
    counts: () => counts,
    doubt(error) {
      current?.abandon();
      lose(error, AGAIN_MS);
    },
    abandon() {
      timer?.clear();
      host = undefined;
      current?.abandon();
      current = undefined;
    },
    async close() {
      timer?.clear();
      host = undefined;
      failure = notOpen;
      const closing = current;
      current = undefined;
      await reopening;
      await closing?.close();
    },
  };
}

const EMPTY: Counts = {
  unexpanded: 0,
  waiting: 0,
  running: 0,
  dead: 0,
  unhandled: 0,
  oldestUnexpandedAt: undefined,
  oldestUnsettledAt: undefined,
};
