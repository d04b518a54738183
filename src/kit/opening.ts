import type { Clock } from "../clock.ts";
import { StorageError } from "../errors.ts";
import type { InboxHost, WritingInbox } from "../inbox/port.ts";
import { within } from "../within.ts";

/** Opens the inbox when it is first needed: never at import. */
export interface Opening {
  /** Resolves when it is open. A failure is forgotten, so that the next one tries again. */
  opened(): Promise<void>;
  /** The same for a request, which does not wait longer for an inbox to open than for it to keep. */
  inTime(): Promise<void>;
  /** Somebody asked for it, and it did not fail. */
  begun(): boolean;
  /** It was opened. */
  isOpen(): boolean;
  /** Why a try failed, the last one that did; means nothing once it is open. */
  failure(): { readonly error: unknown } | undefined;
}

export function createOpening(
  inbox: WritingInbox,
  host: InboxHost,
  { deadlineMs, clock }: { readonly deadlineMs: number; readonly clock: Clock },
): Opening {
  let opening: Promise<void> | undefined;
  let isOpen = false;
  let failure: { readonly error: unknown } | undefined;

  async function open(): Promise<void> {
    try {
      await inbox.open(host);
    } catch (error) {
      failure = { error };
      throw error;
    }
    isOpen = true;
  }

  async function opened(): Promise<void> {
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
      if (await within(deadlineMs, done, { clock, late: false })) return;
      throw new StorageError("storage-late", "The inbox is still opening.");
    },
    begun: () => opening !== undefined,
    isOpen: () => isOpen,
    failure: () => failure,
  };
}
