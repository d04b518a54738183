import { memoryInbox } from "hookline";
import { test } from "vitest";
import { checkInboxModel } from "../suites/inbox-model/check-inbox-model.ts";
import { crashMemoryInbox } from "../support/crash-memory-inbox.ts";

test("the memory inbox is what the port says in plain arrays", { timeout: 60_000 }, () =>
  checkInboxModel({
    make: () => memoryInbox(),
    crash(inbox) {
      crashMemoryInbox(inbox);
      return inbox;
    },
  }),
);
