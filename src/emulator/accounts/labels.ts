import type { MailboxRecord } from "./mailbox.ts";

/** The labels that the service gives a message, such as `inbox` and `unread`. */
export function labelsOf({ sysLabels }: MailboxRecord): readonly string[] {
  return Array.isArray(sysLabels) ? (sysLabels as readonly string[]) : [];
}
