import { checkInbox } from "hookline/testing";
import { describe, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { inFolders } from "./in-folder.ts";
import { openInline } from "./inline-channel.ts";

describe("the SQLite inbox keeps what the port promises:", () => {
  test.each(checkInbox(inFolders()))("$name", ({ run }) => run());
});

describe("on a thread of its own or not, the SQLite inbox keeps what the port promises:", () => {
  const inline = inFolders((file) => createSqliteInbox({ file, maxJobs: 500_000, openChannel: openInline }));
  test.each(checkInbox(inline))("$name", ({ run }) => run());
});
