import { StorageError, UsageError } from "../errors.ts";
import type { InboxHost, WritingInbox } from "./port/inbox.ts";

export interface OneReceiverParts {
  /** Such as `SQLite inbox`. */
  readonly name: string;
  /** How another one is made. */
  readonly make: string;
  /** Where it rejects, it leaves nothing open. */
  readonly open: (host: InboxHost) => Promise<void>;
  /** Undoes `open`, also while that still runs. */
  readonly close: () => Promise<void>;
}

/** A receiver, from its open to its close. */
interface User {
  readonly host: InboxHost;
  opened: Promise<void>;
  closed?: Promise<void>;
}

/**
 * `open` and `close` of an inbox that one receiver has at a time. A close undoes the open before it, and no other: who opens it meanwhile
 * waits until nothing of that is left.
 */
export function forOneReceiver({ name, make, open, close }: OneReceiverParts): Pick<WritingInbox, "open" | "close"> {
  let user: User | undefined;
  /** Of those before: the last close, and the open that it undid. */
  let left: Promise<unknown> | undefined;

  async function enter(mine: User): Promise<void> {
    try {
      if (left !== undefined) await left;
      if (user === mine) await open(mine.host);
    } catch (error) {
      if (user === mine) user = undefined;
      throw error;
    }
    if (user === mine) return;
    // It may have opened after the close.
    await mine.closed?.catch(() => {});
    await close();
    throw new StorageError("storage-failed", "The inbox was closed while it opened.");
  }

  async function leave(): Promise<void> {
    if (left !== undefined) await left;
    await close();
  }

  return {
    async open(host) {
      if (user !== undefined && user.host !== host)
        throw new UsageError("inbox-shared", `This ${name} is in use by another receiver.`, {
          fix: `Give each receiver a \`${make}\` of its own, or close the other one first.`,
        });
      if (user === undefined) {
        user = { host, opened: Promise.resolve() };
        user.opened = enter(user);
      }
      await user.opened;
    },
    async close() {
      if (user === undefined) return void (await left);
      const mine = user;
      user = undefined;
      mine.closed = leave();
      left = Promise.allSettled([mine.closed, mine.opened]);
      await mine.closed;
    },
  };
}
