import { UsageError } from "../../errors.ts";
import type { Inbox, StorageKind, WorkingInbox, WritingInbox } from "./inbox.ts";

/**
 * An inbox by its writing half.
 * @throws UsageError `inbox-invalid` when it is none
 */
export function asWriting<K extends StorageKind>(inbox: Inbox<K>): WritingInbox<K> {
  const given = inbox as Partial<WritingInbox<K>> | undefined;
  if (typeof given?.store === "function" && typeof given.open === "function") return given as WritingInbox<K>;
  throw new UsageError(
    "inbox-invalid",
    `createReceiver got ${given === undefined ? "no inbox" : "an inbox without verbs"}.`,
    {
      fix: "Give it `memoryInbox()`, `forwardInbox(store)`, or one written for `hookline/adapter`.",
    },
  );
}

/** The working half, where the inbox has one. */
export function asWorking<K extends StorageKind>(inbox: WritingInbox<K>): WorkingInbox<K> | undefined {
  return "work" in inbox ? (inbox as WorkingInbox<K>) : undefined;
}
