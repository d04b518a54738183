import { describe, test } from "vitest";
import { checkInbox } from "../../suites/inbox/check-inbox.ts";
import { inDatabases } from "./in-database.ts";

describe("the PostgreSQL inbox keeps what the port promises:", () => {
  test.each(checkInbox(inDatabases()))("$name", ({ run }) => run());
});
