import type { Inbox } from "hookline";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import type { InboxSubject } from "../../suites/inbox/inbox-subject.ts";
import { fastTmpdir } from "../../support/fast-tmpdir.ts";
import { crashSqliteInbox, mortalSqliteInbox } from "./mortal-sqlite-inbox.ts";

/**
 * SQLite inboxes, each in a new folder of its own; a crash leaves the folder to the successor. What is settled stays: the port says nothing of
 * its end.
 */
export function inFolders(openThread?: SqliteOptions["openThread"]): Required<Omit<InboxSubject, "beside">> {
  const folders = new WeakMap<Inbox, string>();
  const inboxIn = (folder: string): Inbox => {
    const inbox = mortalSqliteInbox({ file: join(folder, "inbox.db"), openThread });
    folders.set(inbox, folder);
    return inbox;
  };
  return {
    make: () => inboxIn(mkdtempSync(join(fastTmpdir(), "hookline-"))),
    async crash(inbox) {
      await crashSqliteInbox(inbox);
      return inboxIn(folders.get(inbox) ?? "");
    },
    cleanup: (inbox) => rmSync(folders.get(inbox) ?? "", { recursive: true, force: true }),
  };
}
