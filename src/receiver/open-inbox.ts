import type { Clock } from "../clock.ts";
import { ClosedError, StorageError } from "../errors.ts";
import type { InboxHost, WritingInbox } from "../inbox/port/inbox.ts";
import { withTimeout } from "../timeout.ts";
import type { ReceiverStates } from "./receiver-states.ts";

/** Opens the inbox when it is first needed, never at import; and lets it go. */
export interface Opening {
  /**
   * Resolves when it is open. A failure is forgotten, so that the next one tries again.
   * @throws ClosedError `closed` once it was let go, or is not to be opened any more
   */
  opened(): Promise<void>;
  /** The same for a request, which does not wait longer for an inbox to open than for it to keep. */
  inTime(): Promise<void>;
  /** It can be used. */
  isOpen(): boolean;
  /** Why a try failed, the last one that did; means nothing once it is open. */
  failure(): { readonly error: unknown } | undefined;
  /** Closes it, also while it opens; not where nobody ever needed it. */
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
  let failure: { readonly error: unknown } | undefined;

  async function open(): Promise<void> {
    states.take("open");
    try {
      await inbox.open(host);
    } catch (error) {
      if (!states.take("open-failed")) throw toClosed();
      failure = { error };
      throw error;
    }
    if (!states.take("opened")) {
      // Nobody waits for it any more, and whoever opens it next must not find it taken.
      await inbox.close();
      throw toClosed();
    }
    isOpen = true;
  }

  async function opened(): Promise<void> {
    if (isOpen) return;
    if (states.isClosing) throw toClosed();
    const begun = (opening ??= open());
    try {
      await begun;
    } catch (error) {
      if (opening === begun) opening = undefined;
      throw error;
    }
  }

  return {
    opened,
    async inTime() {
      if (isOpen) return;
      const done = opened().then(() => true);
      if (await withTimeout(timeoutMs, done, { clock, late: false })) return;
      throw new StorageError("storage-late", "The inbox is still opening.");
    },
    isOpen: () => isOpen,
    failure: () => failure,
    async close() {
      const begun = isOpen || opening !== undefined;
      isOpen = false;
      if (begun) await inbox.close();
    },
  };
}

/** For whoever comes too late. */
export function toClosed(): ClosedError {
  return new ClosedError("closed", "The receiver is closed.", { fix: "Make a new one with `createReceiver`." });
}
