import { test } from "vitest";
import { checkInboxModel } from "../../suites/inbox-model/check-inbox-model.ts";
import { inDatabases } from "./in-database.ts";

/** For more: HOOKLINE_ROUNDS=1000. A walk takes a second, so a failure is not made shorter: its seed repeats it. */
const RUNS = Number(process.env["HOOKLINE_ROUNDS"] ?? 10);
const LIMIT = { timeout: 60_000 + RUNS * 10_000 };

test("the PostgreSQL inbox is what the port says in plain arrays", LIMIT, () =>
  checkInboxModel(inDatabases(), { runs: RUNS, steps: 30, shrink: false }),
);
