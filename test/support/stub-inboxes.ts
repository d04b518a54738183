import { memoryInbox, type Inbox, type MemoryInboxOptions } from "hookline";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";

type Verbs = WorkingInbox<"memory">;

/** A memory inbox with some verbs of the test's own. */
export function stubInbox(change: (own: Verbs) => Partial<Verbs>, options?: MemoryInboxOptions): Inbox<"memory"> {
  const own = memoryInbox(options) as Verbs;
  const verbs: Verbs = { ...own, ...change(own) };
  return verbs;
}

/** One whose storage is out of order. */
export function failingInbox(error: unknown = new Error("the disk is gone")): Inbox<"memory"> {
  return stubInbox(() => ({ store: () => Promise.reject(error) }));
}

/** One that cannot even be opened. */
export function unopenableInbox(error: unknown = new Error("no such volume")): Inbox<"memory"> {
  return stubInbox(() => ({ open: () => Promise.reject(error) }));
}

/** One that never says anything. */
export function hungInbox(): Inbox<"memory"> {
  return stubInbox(() => ({ store: () => new Promise(() => {}) }));
}
