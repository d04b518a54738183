import { UsageError } from "../../../src/errors.ts";
import { asWorking, asWriting, type Inbox, type WorkingInbox } from "../../../src/inbox/port/inbox.ts";

/** An inbox to hold against the port: how to get one, how its process dies, what to clear away. */
export interface InboxSubject {
  /** A new one, empty and not yet open. */
  make(): Inbox | Promise<Inbox>;
  /**
   * The process that works on it dies, whatever it was doing; gives the inbox as a successor finds it on the same store, not
   * yet open. Only an inbox whose durability is `none` can do without.
   */
  crash?(inbox: Inbox): Inbox | Promise<Inbox>;
  /** Another process on the store of one, not yet open. Only an inbox on which one process works at a time can do without. */
  beside?(inbox: Inbox): Inbox | Promise<Inbox>;
  /** After each case, passed or failed, with the inbox closed: clears the store away. */
  cleanup?(inbox: Inbox): void | Promise<void>;
}

/**
 * Both halves of an inbox under test.
 * @throws UsageError `inbox-invalid`
 */
export function toWorking(inbox: Inbox): WorkingInbox {
  const working = asWorking(asWriting(inbox));
  if (working !== undefined) return working;
  throw new UsageError("inbox-invalid", "The suite got an inbox with the writing half alone, expected both halves.", {
    fix: "Give it a `WorkingInbox` of `hookline/adapter`.",
  });
}
