import type { Inbox } from "hookline";
import { asWriting } from "../../src/inbox/port/inbox.ts";

/** Leaves a memory inbox as if the process that worked on it had died: its claims are never settled, and another receiver can open it. */
export function crashMemoryInbox(inbox: Inbox): void {
  void asWriting(inbox)
    .close()
    .catch(() => {}); // it was not open
}
