import { checkInboxModel } from "hookline/testing";
import { test } from "vitest";
import { inFolders } from "./in-folder.ts";

test("the SQLite inbox is what the port says in plain arrays", { timeout: 120_000 }, () =>
  checkInboxModel(inFolders(), { runs: 40, steps: 30 }),
);
