import type { Clock } from "../clock.ts";
import { ClosedError, StorageError, UsageError } from "../errors.ts";
import type { InboxHost, WorkingInbox, WritingInbox } from "../inbox/port/inbox.ts";
import { catchRejection } from "../thrown.ts";
import { withTimeout } from "../timeout.ts";
import type { ReceiverStates } from "./lifecycle.ts";

/** Opens the inbox when it is first needed, never at import; and closes it. */
export interface Opening {
  /**
   * Resolves when the inbox is open. After a failure the next call tries again.
   * @throws ClosedError `closed` once the receiver closes
   */
  opened(): Promise<void>;
  /**
   * For a request, which waits no longer for an inbox to open than to store. Undefined where it is open already.
   * @throws StorageError `storage-late`
   */
  inTime(): Promise<void> | undefined;
  isOpen(): boolean;
  /** The error of the last failed attempt; meaningless once the inbox is open. */
  failure(): { readonly error: unknown } | undefined;
  /** Closes the inbox, also while it opens; does nothing if it was never needed. */
  close(): Promise<void>;
}

export interface OpeningOptions {
  readonly states: ReceiverStates;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

export function createOpening(
  inbox: WritingInbox,
  host: InboxHost,
  { states, timeoutMs, clock }: OpeningOptions,
): Opening {
  let opening: Promise<void> | undefined;
  let isOpen = false;
  /** Of an inbox that opened after the close of its receiver. */
  let closing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  async function open(): Promise<void> {
    states.take("open");
    try {
      await inbox.open(host);
    } catch (error) {
      catchRejection(error);
      if (!states.take("open-failed")) throw toClosed();
      failure = { error };
      throw error;
    }
    if (!states.take("opened")) {
      // Closed meanwhile: the next receiver must not find the inbox in use.
      await (closing = inbox.close());
      throw toClosed();
    }
    isOpen = true;
  }

  async function opened(): Promise<void> {
    if (isOpen) return;
    if (states.isClosing) throw toClosed();
    const mine = (opening ??= open());
    try {
      await mine;
    } catch (error) {
      if (opening === mine) opening = undefined;
      throw error;
    }
  }

  async function openedInTime(): Promise<void> {
    const done = opened().then(() => true);
    if (await withTimeout(timeoutMs, done, { clock, late: false })) return;
    throw new StorageError("storage-late", "The inbox is still opening.");
  }

  return {
    opened,
    inTime: () => (isOpen ? undefined : openedInTime()),
    isOpen: () => isOpen,
    failure: () => failure,
    async close() {
      const isNeeded = isOpen || opening !== undefined;
      isOpen = false;
      // Once it is closed, the next receiver may have it: a second close would be of that one's.
      if (isNeeded) await (closing ?? inbox.close());
    },
  };
}

/**
 * Opens an inbox for a look, whether this process works or not.
 * @param inbox undefined where it has no working half
 */
export function openToWork(
  inbox: WorkingInbox | undefined,
  { opened, assertOpen }: Pick<Opening, "opened"> & { readonly assertOpen: () => void },
): () => Promise<WorkingInbox> {
  return async () => {
    assertOpen();
    if (inbox === undefined)
      throw new UsageError("inbox-cannot-work", "This inbox only forwards deliveries: it holds no jobs.", {
        fix: "Look into the queue behind it; `memoryInbox()` and other inboxes that work have jobs.",
      });
    await opened();
    assertOpen();
    return inbox;
  };
}

/** The error of every call after `close()`. */
export function toClosed(): ClosedError {
  return new ClosedError("closed", "The receiver is closed.", { fix: "To go on, make a new receiver." });
}
