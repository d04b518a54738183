import { UsageError } from "../../errors.ts";
import type { AccountSeed, EmulatedAccount } from "../emulator-types.ts";
import type { Random } from "../random.ts";
import type { ScheduledDraft } from "./drafts.ts";
import type { Folders } from "./folders.ts";
import type { Mailbox, MailboxRecord } from "./mailbox.ts";
import type { AccountProfile } from "./profile.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { Tracking } from "./tracking.ts";

/** An account in the emulator's memory. */
export interface Account {
  readonly id: number;
  /** Another one after it was revoked. */
  token: string;
  readonly name: string;
  readonly email: string;
  /** What the service's API tells of the account beside these. */
  profile: AccountProfile;
  readonly mailbox: Mailbox;
  readonly folders: Folders;
  /** By the id of the draft's message. */
  readonly scheduled: Map<string, ScheduledDraft>;
  readonly tracking: Tracking;
  readonly random: Random;
  /** Calls of the API that it may make. */
  readonly calls: RateLimit;
  /** False: lists have a preview of a message's body alone. @see protocol 4.1: so it is with some kinds of account */
  readonly hasBodiesInLists: boolean;
  /** False while the service has lost its access. */
  hasAccess: boolean;
  /** False: the service announces nothing, and says so nowhere but in its subscriptions. */
  isPaid: boolean;
}

/** A message comes into the inbox. It belongs to the conversation that it answers. */
export function receiveMessage(account: Account, mail: Readonly<Record<string, unknown>>): MailboxRecord {
  const { mailbox, random, name, email } = account;
  const message = mailbox.create(mailbox.collection("/email/messages"), {
    subject: "Hello",
    from: { name: "Ada Byron", address: "ada@example.com" },
    to: [{ name, address: email }],
    sysLabels: ["inbox", "unread"],
    internetMessageId: `<${random.uuid()}@example.com>`,
    ...mail,
    threadId: mail["threadId"] ?? threadOf(account, mail["inReplyTo"]) ?? `t-${random.hex(12)}`,
  });
  account.tracking.received(message);
  return message;
}

/** Of the message with this Message-ID. */
export function threadOf({ mailbox }: Account, internetMessageId: unknown): string | undefined {
  if (internetMessageId === undefined) return undefined;
  const { records } = mailbox.collection("/email/messages");
  for (const message of records.values())
    if (message["internetMessageId"] === internetMessageId) return message["threadId"] as string;
  return undefined;
}

/** Fills the mailbox of a new account, of which nobody is told. */
export function seedMailbox(
  account: Account,
  { calendars = [], mail = [], events, contacts, tasks, taskLists = [] }: AccountSeed,
): void {
  const { mailbox } = account;
  const add = (resource: string, records: readonly object[] = []): void => {
    for (const record of records) mailbox.create(mailbox.collection(resource), record);
  };
  add("/calendars/primary/events", events);
  for (const { isShared = false, events: own = [], ...fields } of calendars)
    add(`/calendars/${mailbox.addCalendar(fields, { isShared }).id}/events`, own);
  for (const message of mail) receiveMessage(account, { ...message });
  add("/contacts", contacts);
  add("/tasklists/default/tasks", tasks);
  for (const { title, tasks: own } of taskLists) add(`/tasklists/${mailbox.addTaskList(title).id}/tasks`, own);
}

/** What the methods of an account need. */
export interface AccountDeps {
  readonly now: () => number;
  /** Tells all subscriptions of the account. */
  readonly setAccess: (account: Account, hasAccess: boolean) => void;
}

const HOUR_MS = 3_600_000;

/** The methods by which a program changes an account. */
export function toEmulatedAccount(account: Account, { now, setAccess }: AccountDeps): EmulatedAccount {
  const { mailbox } = account;
  const add = (resource: string, fields: object): MailboxRecord => mailbox.create(mailbox.collection(resource), fields);
  const missing = (resource: string, id: string): UsageError =>
    new UsageError("record-not-found", `Account ${account.id} has no record ${JSON.stringify(id)} at ${resource}.`);

  return {
    accountId: account.id,
    get token() {
      return account.token;
    },
    expireCredentials: async () => setAccess(account, false),
    restoreCredentials: async () => setAccess(account, true),
    async setPaid(isPaid) {
      account.isPaid = isPaid;
    },
    async receiveMail(mail = {}) {
      const { id, threadId } = receiveMessage(account, { ...mail });
      return { id, threadId: threadId as string };
    },
    async addEvent(event = {}, calendarId = "primary") {
      const startMs = Math.ceil((now() + 1) / HOUR_MS) * HOUR_MS;
      const times = { start: timeAt(startMs), end: timeAt(startMs + HOUR_MS) };
      return add(`/calendars/${encodeURIComponent(calendarId)}/events`, { subject: "Meeting", ...times, ...event });
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

function timeAt(ms: number): object {
  return { dateTime: new Date(ms).toISOString(), timezone: "UTC" };
}
