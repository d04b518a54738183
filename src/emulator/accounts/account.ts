import { UsageError } from "../../errors.ts";
import type { EmulatedAccount } from "../emulator-types.ts";
import type { Random } from "../random.ts";
import type { Mailbox, MailboxRecord } from "./mailbox.ts";

/** An account in the emulator's memory. */
export interface Account {
  readonly id: number;
  readonly token: string;
  readonly name: string;
  readonly email: string;
  readonly mailbox: Mailbox;
  /** False while the service has lost its access. */
  hasAccess: boolean;
}

/** What the methods of an account need. */
export interface AccountDeps {
  readonly random: Random;
  /** Tells all subscriptions of the account. */
  readonly setAccess: (account: Account, hasAccess: boolean) => void;
}

/** The methods by which a program changes an account. */
export function toEmulatedAccount(account: Account, { random, setAccess }: AccountDeps): EmulatedAccount {
  const { mailbox, email, name } = account;
  const add = (resource: string, fields: object): MailboxRecord => mailbox.create(mailbox.collection(resource), fields);
  const missing = (resource: string, id: string): UsageError =>
    new UsageError("record-not-found", `Account ${account.id} has no record ${JSON.stringify(id)} at ${resource}.`);

  return {
    accountId: account.id,
    token: account.token,
    expireCredentials: async () => setAccess(account, false),
    restoreCredentials: async () => setAccess(account, true),
    async receiveMail(mail = {}) {
      const threadId = "threadId" in mail && typeof mail.threadId === "string" ? mail.threadId : `t-${random.hex(12)}`;
      const sender = { name: "Ada Byron", address: "ada@example.com" };
      const arrived = {
        subject: "Hello",
        from: sender,
        to: [{ name, address: email }],
        sysLabels: ["inbox", "unread"],
      };
      const { id } = add("/email/messages", { ...arrived, ...mail, threadId });
      return { id, threadId };
    },
    async addEvent(event = {}, calendarId = "primary") {
      return add(`/calendars/${encodeURIComponent(calendarId)}/events`, { subject: "Meeting", ...event });
    },
    addContact: async (contact = {}) => add("/contacts", { name: { displayName: "Ada Byron" }, ...contact }),
    async addTask(task = {}, taskListId = "default") {
      return add(`/tasklists/${encodeURIComponent(taskListId)}/tasks`, { title: "Call back", ...task });
    },
    async update(resource, id, fields = {}) {
      if (mailbox.update(mailbox.collection(resource), id, fields) === undefined) throw missing(resource, id);
    },
    async remove(resource, id) {
      if (mailbox.remove(mailbox.collection(resource), id) === undefined) throw missing(resource, id);
    },
  };
}
