import { describe, test } from "vitest";
import { checkInbox } from "../../suites/inbox/check-inbox.ts";
import { inFolders } from "./in-folder.ts";
import { openInline } from "./inline-thread.ts";

describe("the SQLite inbox keeps what the port promises:", () => {
  test.each(checkInbox(inFolders()))("$name", ({ run }) => run());
});

describe("on a thread of its own or not, the SQLite inbox keeps what the port promises:", () => {
  test.each(checkInbox(inFolders(openInline)))("$name", ({ run }) => run());
});
