import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Inbox } from "hookline";
import type { InboxSubject } from "hookline/testing";
import {
  crashSqliteInbox,
  createSqliteInbox,
  type SqliteOptions,
} from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { quickFolder } from "../../support/quick-folder.ts";

/** What is settled stays: the port says nothing of its end. */
export function keepingAll(file: string, openChannel?: SqliteOptions["openChannel"]): Inbox {
  const keep = { keepDoneMs: Number.MAX_SAFE_INTEGER, keepUnhandledMs: Number.MAX_SAFE_INTEGER };
  return createSqliteInbox({ file, maxJobs: 500_000, ...keep, ...(openChannel && { openChannel }) });
}

/** SQLite inboxes, each in a new folder of its own; a crash leaves the folder to the successor. */
export function inFolders(toInbox: (file: string) => Inbox = keepingAll): Required<InboxSubject> {
  const folders = new WeakMap<Inbox, string>();
  const inboxIn = (folder: string): Inbox => {
    const inbox = toInbox(join(folder, "inbox.db"));
    folders.set(inbox, folder);
    return inbox;
  };
  return {
    make: () => inboxIn(mkdtempSync(join(quickFolder(), "hookline-"))),
    crash(inbox) {
      crashSqliteInbox(inbox);
      return inboxIn(folders.get(inbox) ?? "");
    },
    cleanup: (inbox) => rmSync(folders.get(inbox) ?? "", { recursive: true, force: true }),
  };
}
