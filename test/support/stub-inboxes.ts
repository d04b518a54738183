import { memoryInbox, type Inbox, type MemoryInboxOptions } from "hookline";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";

type Verbs = WorkingInbox<"memory">;

/** A memory inbox with some methods replaced. */
export function stubInbox(change: (own: Verbs) => Partial<Verbs>, options?: MemoryInboxOptions): Inbox<"memory"> {
  const own = memoryInbox(options) as Verbs;
  const verbs: Verbs = { ...own, ...change(own) };
  return verbs;
}

/** An inbox whose `store` rejects. */
export function failingInbox(error: unknown = new Error("the disk is gone")): Inbox<"memory"> {
  return stubInbox(() => ({ store: () => Promise.reject(error) }));
}

/** An inbox whose `open` rejects. */
export function unopenableInbox(error: unknown = new Error("no such volume")): Inbox<"memory"> {
  return stubInbox(() => ({ open: () => Promise.reject(error) }));
}

/** An inbox whose `store` never settles. */
export function hungInbox(): Inbox<"memory"> {
  return stubInbox(() => ({ store: () => new Promise(() => {}) }));
}
