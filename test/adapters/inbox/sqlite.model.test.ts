import { test } from "vitest";
import { checkInboxModel } from "../../suites/inbox-model/check-inbox-model.ts";
import { inFolders } from "./in-folder.ts";
import { openInline } from "./inline-thread.ts";

/** For more: HOOKLINE_ROUNDS=1000. */
const RUNS = Number(process.env["HOOKLINE_ROUNDS"] ?? 30);
const LIMIT = { timeout: 60_000 + RUNS * 2_000 };

test("the SQLite inbox is what the port says in plain arrays", LIMIT, () =>
  checkInboxModel(inFolders(openInline), { runs: RUNS, steps: 30 }),
);

test("on a thread of its own it is the same", LIMIT, () =>
  checkInboxModel(inFolders(), { runs: Math.ceil(RUNS / 10), steps: 30 }),
);
