import { memoryInbox } from "hookline";
import { describe, test } from "vitest";
import { checkInbox } from "../suites/inbox/check-inbox.ts";
import { crashMemoryInbox } from "../support/crash-memory-inbox.ts";

describe("the memory inbox keeps what the port promises:", () => {
  const cases = checkInbox({
    make: () => memoryInbox(),
    crash(inbox) {
      crashMemoryInbox(inbox);
      return inbox;
    },
  });
  test.each(cases)("$name", ({ run }) => run());
});
